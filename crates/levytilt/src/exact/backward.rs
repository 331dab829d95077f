//! Run the messages from the future and keep only as many of them as memory allows.

use super::transition::Transition;
use crate::Result;
use std::borrow::Cow;

/// Cells of messages kept at once (128 MB); longer runs are recomputed in stretches.
pub(crate) const KEPT: usize = 1 << 24;

/// What the future says about the state at one time: β_j(x) = p(values after j | x_j = x), or its forward counterpart.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Values at the cells of the time, scaled so that the largest is 1 in magnitude.
    pub values: Vec<f64>,
    /// Logarithm of the factor taken out.
    pub log_scale: f64,
    /// Typical absolute error of a value, from FFTs of this step; 0 where every value is accurate by itself.
    pub floor: f64,
}

impl Message {
    /// A message scaled to a largest magnitude of 1; `None` if there is nothing left of it.
    pub fn scaled(mut values: Vec<f64>, log_scale: f64, floor: f64) -> Option<Self> {
        let top = values.iter().fold(0.0f64, |top, value| top.max(value.abs()));
        // Below this, products would lose digits to the limits of the number format.
        if !(top > 1e-290 && top.is_finite()) {
            return None;
        }
        for value in &mut values {
            *value /= top;
            if value.abs() < 1e-290 {
                *value = 0.0;
            }
        }
        Some(Self { values, log_scale: log_scale + top.ln(), floor: floor / top })
    }
}

/// The backward messages β_0 … β_end, the later ones as checkpoints from which stretches are recomputed.
#[derive(Debug)]
pub(crate) struct Backward {
    stride: usize,
    end: usize,
    /// β at the last time of each later stretch, from which the stretch is recomputed.
    checkpoints: Vec<Message>,
    /// β_0 … β_{stride−1}, in order of time.
    first: Vec<Message>,
}

impl Backward {
    /// Run backward from the last observation, where β = 1, to the first time.
    pub fn run(transition: &mut Transition) -> Result<Self> {
        let end = transition.problem.end;
        let all = transition.layout.total() <= KEPT;
        let stride = if all { end + 1 } else { ((end + 1) as f64).sqrt().ceil() as usize };
        let mut message = last(transition);
        let (mut checkpoints, mut first) = (Vec::new(), Vec::new());
        for j in (0..=end).rev() {
            if j < end {
                message = back(transition, j, message)?;
            }
            if j < stride {
                first.push(message.clone());
            } else if j == end || (j + 1) % stride == 0 {
                checkpoints.push(message.clone());
            }
        }
        first.reverse();
        checkpoints.reverse();
        Ok(Self { stride, end, checkpoints, first })
    }

    /// Number of stretches.
    pub fn stretches(&self) -> usize {
        self.end / self.stride + 1
    }

    /// β at the first time.
    pub fn start(&self) -> &Message {
        &self.first[0]
    }

    /// The messages of stretch `k`, in order of time: β_j for j from `k`·stride on.
    pub fn stretch(&self, k: usize, transition: &mut Transition) -> Result<Cow<'_, [Message]>> {
        if k == 0 {
            return Ok(Cow::Borrowed(&self.first));
        }
        let last = ((k + 1) * self.stride - 1).min(self.end);
        let mut messages = vec![self.checkpoints[k - 1].clone()];
        for j in (k * self.stride..last).rev() {
            messages.push(back(transition, j, messages[messages.len() - 1].clone())?);
        }
        messages.reverse();
        Ok(Cow::Owned(messages))
    }
}

/// β at the first time without keeping any other, and whether some step used an FFT.
pub(crate) fn start(transition: &mut Transition) -> Result<(Message, bool)> {
    let mut message = last(transition);
    let mut rough = false;
    for j in (0..transition.problem.end).rev() {
        message = back(transition, j, message)?;
        rough |= message.floor > 0.0;
    }
    Ok((message, rough))
}

/// β at the last observation: nothing follows.
fn last(transition: &Transition) -> Message {
    let ones = vec![1.0; transition.layout.support(transition.problem.end).len];
    Message { values: ones, log_scale: 0.0, floor: 0.0 }
}

/// β_j from β_{j+1}: multiply by the likelihood at `j` + 1, then carry over the step.
fn back(transition: &mut Transition, j: usize, later: Message) -> Result<Message> {
    let problem = transition.problem;
    let why = "no state consistent with the later observations reaches the observation";
    let Message { mut values, log_scale, .. } = later;
    let constant = problem.observe(j + 1, transition.layout.points(j + 1), &mut values);
    let source = Message::scaled(values, log_scale + constant, 0.0).ok_or_else(|| problem.impossible(j + 1, why))?;
    let (values, floor) = transition.pull(j, &source.values)?;
    Message::scaled(values, source.log_scale, floor).ok_or_else(|| problem.impossible(j, why))
}
