//! Put sums, products of entries, and rearrangements of matrices on the tape.

use super::{Back, Op, Tape, Var};

impl Tape {
    /// x + y.
    pub fn add(&mut self, x: Var, y: Var) -> Var {
        self.add_times(x, 1.0, y)
    }

    /// x − y.
    pub fn sub(&mut self, x: Var, y: Var) -> Var {
        self.add_times(x, -1.0, y)
    }

    /// x + sign·y.
    fn add_times(&mut self, x: Var, sign: f32, y: Var) -> Var {
        let shape = self.shape(x);
        assert_eq!(shape, self.shape(y), "shapes of a sum");
        self.record(Op::Add { x, y, sign }, &[x, y], shape, 0, |past, out, _| {
            let pairs = past.value(x).iter().zip(past.value(y));
            out.iter_mut().zip(pairs).for_each(|(out, (x, y))| *out = x + sign * y);
        })
    }

    /// x ∘ y, entry by entry.
    pub fn times(&mut self, x: Var, y: Var) -> Var {
        let shape = self.shape(x);
        assert_eq!(shape, self.shape(y), "shapes of a product of entries");
        self.record(Op::Times { x, y }, &[x, y], shape, 0, |past, out, _| {
            let pairs = past.value(x).iter().zip(past.value(y));
            out.iter_mut().zip(pairs).for_each(|(out, (x, y))| *out = x * y);
        })
    }

    /// Columns from, …, from + count − 1 of x.
    pub fn columns(&mut self, x: Var, from: usize, count: usize) -> Var {
        let (rows, columns) = self.shape(x);
        assert!(from + count <= columns, "columns {from} and {count} on, of {columns}");
        self.record(Op::Columns { x, from }, &[x], (rows, count), 0, |past, out, _| {
            let pairs = out.chunks_exact_mut(count).zip(past.value(x).chunks_exact(columns));
            pairs.for_each(|(out, row)| out.copy_from_slice(&row[from..][..count]));
        })
    }

    /// (x | y), side by side.
    pub fn concat(&mut self, x: Var, y: Var) -> Var {
        let ((rows, left), (same, right)) = (self.shape(x), self.shape(y));
        assert_eq!(rows, same, "rows of matrices side by side");
        self.record(Op::Concat { x, y }, &[x, y], (rows, left + right), 0, |past, out, _| {
            let pairs = past.value(x).chunks_exact(left).zip(past.value(y).chunks_exact(right));
            for (out, (x, y)) in out.chunks_exact_mut(left + right).zip(pairs) {
                out[..left].copy_from_slice(x);
                out[left..].copy_from_slice(y);
            }
        })
    }

    /// x with y added to its last columns.
    pub fn add_columns(&mut self, x: Var, y: Var) -> Var {
        let ((rows, columns), (same, right)) = (self.shape(x), self.shape(y));
        assert!(rows == same && right <= columns, "last columns of a sum");
        self.record(Op::AddColumns { x, y }, &[x, y], (rows, columns), 0, |past, out, _| {
            out.copy_from_slice(past.value(x));
            let pairs = out.chunks_exact_mut(columns).zip(past.value(y).chunks_exact(right));
            for (out, y) in pairs {
                out[columns - right..].iter_mut().zip(y).for_each(|(out, y)| *out += y);
            }
        })
    }

    /// Rows of all these matrices, one below the other.
    pub fn stack(&mut self, parts: &[Var]) -> Var {
        let columns = self.shape(parts[0]).1;
        let rows = parts.iter().map(|part| self.shape(*part));
        let rows = rows.inspect(|shape| assert_eq!(shape.1, columns, "columns of stacked matrices")).map(|s| s.0).sum();
        let first = self.stacked.len();
        self.stacked.extend_from_slice(parts);
        self.record(Op::Stack { first, count: parts.len() }, parts, (rows, columns), 0, |past, out, _| {
            let mut rest = out;
            for part in parts {
                let value = past.value(*part);
                let (now, later) = rest.split_at_mut(value.len());
                now.copy_from_slice(value);
                rest = later;
            }
        })
    }

    /// The largest of every `size` neighbours in a row; what does not fill a pool is left out at the front.
    pub fn pool(&mut self, x: Var, size: usize) -> Var {
        let (rows, columns) = self.shape(x);
        let pooled = columns / size;
        self.record(Op::Pool { x, size }, &[x], (rows, pooled), 0, |past, out, _| {
            for (out, row) in out.chunks_exact_mut(pooled).zip(past.value(x).chunks_exact(columns)) {
                let pools = row[columns - pooled * size..].chunks_exact(size);
                out.iter_mut().zip(pools).for_each(|(out, pool)| *out = pool[largest(pool)]);
            }
        })
    }
}

/// The first of the largest.
fn largest(pool: &[f32]) -> usize {
    (1..pool.len()).fold(0, |best, k| if pool[k] > pool[best] { k } else { best })
}

/// G ∘ y in x, G ∘ x in y.
pub(super) fn pull_times(mut back: Back, x: Var, y: Var, slope: &[f32]) {
    for (to, other) in [(x, back.value(y)), (y, back.value(x))] {
        if let Some(by) = back.slope(to) {
            by.iter_mut().zip(slope.iter().zip(other)).for_each(|(by, (g, other))| *by += g * other);
        }
    }
}

/// G in those columns.
pub(super) fn pull_columns(mut back: Back, x: Var, from: usize, slope: &[f32]) {
    let (count, columns) = (back.node.columns, back.columns(x));
    if let Some(by_x) = back.slope(x) {
        for (row, g) in by_x.chunks_exact_mut(columns).zip(slope.chunks_exact(count)) {
            row[from..][..count].iter_mut().zip(g).for_each(|(row, g)| *row += g);
        }
    }
}

/// The left columns of G in x, the right ones in y.
pub(super) fn pull_concat(mut back: Back, x: Var, y: Var, slope: &[f32]) {
    let all = back.node.columns;
    for (part, from) in [(x, 0), (y, back.columns(x))] {
        let columns = back.columns(part);
        if let Some(by) = back.slope(part) {
            for (by, g) in by.chunks_exact_mut(columns).zip(slope.chunks_exact(all)) {
                by.iter_mut().zip(&g[from..]).for_each(|(by, g)| *by += g);
            }
        }
    }
}

/// G in x, its last columns in y.
pub(super) fn pull_add_columns(mut back: Back, x: Var, y: Var, slope: &[f32]) {
    back.add(x, 1.0, slope);
    let (columns, right) = (back.node.columns, back.columns(y));
    if let Some(by_y) = back.slope(y) {
        for (by, g) in by_y.chunks_exact_mut(right).zip(slope.chunks_exact(columns)) {
            by.iter_mut().zip(&g[columns - right..]).for_each(|(by, g)| *by += g);
        }
    }
}

/// Its own rows of G in each part.
pub(super) fn pull_stack(mut back: Back, parts: &[Var], slope: &[f32]) {
    let mut rest = slope;
    for part in parts {
        let (now, later) = rest.split_at(back.nodes[part.0].len());
        back.add(*part, 1.0, now);
        rest = later;
    }
}

/// G at the largest of each pool, 0 at the others.
pub(super) fn pull_pool(mut back: Back, x: Var, size: usize, slope: &[f32]) {
    let (pooled, columns, values) = (back.node.columns, back.columns(x), back.value(x));
    let unused = columns - pooled * size;
    if let Some(by_x) = back.slope(x) {
        let rows = by_x.chunks_exact_mut(columns).zip(values.chunks_exact(columns));
        for ((by, row), g) in rows.zip(slope.chunks_exact(pooled)) {
            for (k, g) in g.iter().enumerate() {
                let from = unused + k * size;
                by[from + largest(&row[from..][..size])] += g;
            }
        }
    }
}
