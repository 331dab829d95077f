//! Record the operations of a network as they are computed, and pull the slope of a loss back through them.
//!
//! All matrices are of single precision, row by row, in one growing array: parameters first, then constants, then the
//! results of operations in the order in which they were computed. Slopes lie in a second array of the same layout. One
//! operation is one fused loop or matrix product, everything runs on the calling thread, and sums have a fixed order: the
//! same inputs give the same bits.

mod arrange;
mod dense;
mod elementary;
mod flow;
mod lstm;
mod product;
#[cfg(test)]
mod tests;

pub(crate) use elementary::Activation;
pub(crate) use lstm::{LstmWeights, lstm_step};
use product::Transposes;

/// A matrix on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Var(usize);

/// How a matrix came about; the formulas are with the functions that compute them.
#[derive(Debug, Clone, Copy)]
enum Op {
    /// Parameter or constant.
    Leaf,
    Dense {
        x: Var,
        weight: Var,
        bias: Var,
        activation: Activation,
    },
    Product {
        x: Var,
        matrix: Var,
    },
    Add {
        x: Var,
        y: Var,
        sign: f32,
    },
    Times {
        x: Var,
        y: Var,
    },
    Columns {
        x: Var,
        from: usize,
    },
    Concat {
        x: Var,
        y: Var,
    },
    AddColumns {
        x: Var,
        y: Var,
    },
    /// Rows of `count` matrices from entry `first` of the list of stacked matrices.
    Stack {
        first: usize,
        count: usize,
    },
    Pool {
        x: Var,
        size: usize,
    },
    Lstm {
        before: Var,
        recurrent: Var,
    },
    Start {
        direction: Var,
    },
    Speed {
        state: Var,
        out: Var,
    },
    Advance {
        state: Var,
        speed: Var,
        step: Var,
    },
    Mix {
        speeds: [Var; 4],
    },
    Loss {
        x: Var,
    },
}

#[derive(Debug, Clone, Copy)]
struct Node {
    op: Op,
    start: usize,
    rows: usize,
    columns: usize,
    /// Numbers behind the matrix that are kept for the way back.
    kept: usize,
    /// Whether a parameter has a part in it.
    learned: bool,
}

impl Node {
    fn len(&self) -> usize {
        self.rows * self.columns
    }
}

/// Where a tape can be rewound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    nodes: usize,
    numbers: usize,
    stacked: usize,
}

/// Matrices, how they came about, and the slopes of the last loss in each.
pub(crate) struct Tape {
    nodes: Vec<Node>,
    values: Vec<f32>,
    slopes: Vec<f32>,
    stacked: Vec<Var>,
    transposes: Transposes,
    parameters: usize,
}

/// What an operation reads: matrices that were there before it.
struct Past<'a> {
    nodes: &'a [Node],
    values: &'a [f32],
}

impl Past<'_> {
    fn value(&self, x: Var) -> &[f32] {
        let node = &self.nodes[x.0];
        &self.values[node.start..][..node.len()]
    }
}

/// What the way back through one operation reads and adds to.
struct Back<'a> {
    nodes: &'a [Node],
    values: &'a [f32],
    /// Slopes in all matrices before this one.
    slopes: &'a mut [f32],
    transposes: &'a mut Transposes,
    node: Node,
}

impl<'a> Back<'a> {
    fn value(&self, x: Var) -> &'a [f32] {
        let node = &self.nodes[x.0];
        &self.values[node.start..][..node.len()]
    }

    fn columns(&self, x: Var) -> usize {
        self.nodes[x.0].columns
    }

    /// Result of this operation.
    fn result(&self) -> &'a [f32] {
        &self.values[self.node.start..][..self.node.len()]
    }

    /// What was kept behind the result.
    fn kept(&self) -> &'a [f32] {
        &self.values[self.node.start + self.node.len()..][..self.node.kept]
    }

    /// The slope in `x`, to be added to; nothing if no parameter has a part in it.
    fn slope(&mut self, x: Var) -> Option<&mut [f32]> {
        let node = &self.nodes[x.0];
        node.learned.then(|| &mut self.slopes[node.start..][..node.len()])
    }

    /// slope of `x` += g Mᵀ, for a matrix M of parameters and few rows of g.
    fn add_thin(&mut self, x: Var, matrix: Var, g: &[f32]) {
        let (node, weights) = (&self.nodes[x.0], &self.nodes[matrix.0]);
        let values = &self.values[weights.start..][..weights.len()];
        let transposed = self.transposes.get(matrix, values, weights.columns);
        let slope = &mut self.slopes[node.start..][..node.len()];
        let pairs = slope.chunks_exact_mut(weights.rows).zip(g.chunks_exact(weights.columns));
        pairs.for_each(|(slope, g)| product::add_row(g, transposed, slope, product::Order::Forwards));
    }

    /// slope of `x` += factor · g, entry by entry.
    fn add(&mut self, x: Var, factor: f32, g: &[f32]) {
        if let Some(slope) = self.slope(x) {
            slope.iter_mut().zip(g).for_each(|(slope, g)| *slope += factor * g);
        }
    }
}

impl Tape {
    /// Begin with parameters, whose handles count from 0 on.
    pub fn new(values: Vec<f32>, shapes: &[(usize, usize)]) -> Self {
        let mut start = 0;
        let leaf = |&(rows, columns): &(usize, usize)| {
            let node = Node { op: Op::Leaf, start, rows, columns, kept: 0, learned: true };
            start += node.len();
            node
        };
        let nodes: Vec<Node> = shapes.iter().map(leaf).collect();
        assert_eq!(start, values.len(), "shapes of parameters");
        Self {
            nodes,
            slopes: vec![0.0; values.len()],
            stacked: Vec::new(),
            transposes: Transposes::default(),
            parameters: values.len(),
            values,
        }
    }

    /// The handle of parameter number `k`.
    pub fn parameter(k: usize) -> Var {
        Var(k)
    }

    /// Everything so far, to come back to.
    pub fn mark(&self) -> Mark {
        Mark { nodes: self.nodes.len(), numbers: self.values.len(), stacked: self.stacked.len() }
    }

    /// Forget what was computed since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.nodes.truncate(mark.nodes);
        self.values.truncate(mark.numbers);
        self.stacked.truncate(mark.stacked);
    }

    /// Numbers of a matrix, row by row.
    pub fn value(&self, x: Var) -> &[f32] {
        let node = &self.nodes[x.0];
        &self.values[node.start..][..node.len()]
    }

    /// Rows and columns.
    pub fn shape(&self, x: Var) -> (usize, usize) {
        (self.nodes[x.0].rows, self.nodes[x.0].columns)
    }

    /// All parameters, and the slopes that `backward` found.
    pub fn parameters(&mut self) -> (&mut [f32], &[f32]) {
        (&mut self.values[..self.parameters], &self.slopes[..self.parameters])
    }

    /// Number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters
    }

    /// Rows and columns of every matrix of parameters.
    #[cfg(test)]
    pub fn parameter_shapes(&self) -> Vec<(usize, usize)> {
        let shapes = self.nodes.iter().take_while(|node| node.start < self.parameters);
        shapes.map(|node| (node.rows, node.columns)).collect()
    }

    /// A matrix that is not learned.
    pub fn constant(&mut self, columns: usize, values: &[f32]) -> Var {
        let (start, rows) = (self.values.len(), values.len() / columns);
        assert_eq!(rows * columns, values.len(), "shape of a constant");
        self.values.extend_from_slice(values);
        self.nodes.push(Node { op: Op::Leaf, start, rows, columns, kept: 0, learned: false });
        Var(self.nodes.len() - 1)
    }

    /// A scalar f(x) whose value and slope in `x` are computed together: `f` fills the slope and returns the value.
    pub fn loss(&mut self, x: Var, f: impl FnOnce(&[f32], &mut [f32]) -> f64) -> Var {
        let kept = self.nodes[x.0].len();
        self.record(Op::Loss { x }, &[x], (1, 1), kept, |past, out, slope| out[0] = f(past.value(x), slope) as f32)
    }

    /// Put the result of an operation on the tape: `compute` fills it, and what is kept for the way back.
    fn record(
        &mut self,
        op: Op,
        inputs: &[Var],
        (rows, columns): (usize, usize),
        kept: usize,
        compute: impl FnOnce(&Past, &mut [f32], &mut [f32]),
    ) -> Var {
        let start = self.values.len();
        let learned = inputs.iter().any(|x| self.nodes[x.0].learned);
        self.values.resize(start + rows * columns + kept, 0.0);
        let (before, own) = self.values.split_at_mut(start);
        let (out, extra) = own.split_at_mut(rows * columns);
        compute(&Past { nodes: &self.nodes, values: before }, out, extra);
        self.nodes.push(Node { op, start, rows, columns, kept, learned });
        Var(self.nodes.len() - 1)
    }

    /// Slopes of `loss`, a scalar, in everything that led to it.
    pub fn backward(&mut self, loss: Var) {
        assert_eq!(self.shape(loss), (1, 1), "a loss is a scalar");
        self.transposes.clear();
        self.slopes.clear();
        self.slopes.resize(self.values.len(), 0.0);
        self.slopes[self.nodes[loss.0].start] = 1.0;
        for &node in self.nodes[..=loss.0].iter().rev().filter(|node| node.learned) {
            let (before, own) = self.slopes.split_at_mut(node.start);
            let (slope, spare) = own[..node.len() + node.kept].split_at_mut(node.len());
            let back = Back {
                nodes: &self.nodes,
                values: &self.values,
                slopes: before,
                transposes: &mut self.transposes,
                node,
            };
            pull(back, &self.stacked, slope, spare);
        }
    }
}

/// Pull `slope`, in the result of one operation, back to its inputs; `slope` and `spare` may be overwritten.
fn pull(mut back: Back, stacked: &[Var], slope: &mut [f32], spare: &mut [f32]) {
    match back.node.op {
        Op::Leaf => {}
        Op::Dense { x, weight, bias, activation } => dense::pull_dense(back, x, weight, bias, activation, slope),
        Op::Product { x, matrix } => dense::pull_product(back, x, matrix, slope),
        Op::Add { x, y, sign } => {
            back.add(x, 1.0, slope);
            back.add(y, sign, slope);
        }
        Op::Times { x, y } => arrange::pull_times(back, x, y, slope),
        Op::Columns { x, from } => arrange::pull_columns(back, x, from, slope),
        Op::Concat { x, y } => arrange::pull_concat(back, x, y, slope),
        Op::AddColumns { x, y } => arrange::pull_add_columns(back, x, y, slope),
        Op::Stack { first, count } => arrange::pull_stack(back, &stacked[first..][..count], slope),
        Op::Pool { x, size } => arrange::pull_pool(back, x, size, slope),
        Op::Lstm { before, recurrent } => lstm::pull_lstm(back, before, recurrent, slope, spare),
        Op::Start { direction } => flow::pull_start(back, direction, slope),
        Op::Speed { state, out } => flow::pull_speed(back, state, out, slope),
        Op::Advance { state, speed, step } => flow::pull_advance(back, state, speed, step, slope),
        Op::Mix { speeds } => flow::pull_mix(back, speeds, slope),
        Op::Loss { x } => {
            let kept = back.kept();
            back.add(x, slope[0], kept);
        }
    }
}
