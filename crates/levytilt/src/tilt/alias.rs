//! Draw an index by its weight with one random word: an alias table (Walker 1977, Vose 1991).

/// One column of an alias table: keep the column's own index with some probability, else take another one.
///
/// One word: the probability in units of 2⁻⁶⁴ without its last eight bits, which hold the other index. So a table of 40
/// weights is five cache lines.
#[derive(Debug, Clone, Copy)]
struct Slot(u64);

/// Most weights that a table can hold.
pub(crate) const MOST: usize = 256;

impl Slot {
    fn new(keep: f64, other: usize) -> Self {
        // 2⁶³ and a shift, because the conversion to a signed number is a single instruction.
        let units = ((keep * 9_223_372_036_854_775_808.0) as i64 as u64) << 1;
        Self(units & !0xff | other as u64)
    }
}

/// An alias table of up to [`MOST`] weights.
#[derive(Debug, Default)]
pub(crate) struct AliasTable {
    slots: Vec<Slot>,
}

impl AliasTable {
    /// The table of `weights`, which sum to one and are used up; `order` is working space.
    pub(crate) fn new(weights: &mut [f64], order: &mut Vec<u8>) -> Self {
        let share = weights;
        let n = share.len();
        share.iter_mut().for_each(|w| *w *= n as f64);
        // A column that is left alone at the end keeps itself, whichever way the draw falls.
        let mut slots: Vec<Slot> = (0..n).map(|k| Slot(k as u64)).collect();
        order.clear();
        order.resize(n, 0);
        // Poor columns grow from the left of `order`, rich ones from the right.
        let (mut poor, mut rich) = (0, n);
        for (k, &s) in share.iter().enumerate() {
            if s < 1.0 {
                order[poor] = k as u8;
                poor += 1;
            } else {
                rich -= 1;
                order[rich] = k as u8;
            }
        }
        while poor > 0 && rich < n {
            poor -= 1;
            let (low, high) = (order[poor] as usize, order[rich] as usize);
            slots[low] = Slot::new(share[low], high);
            share[high] -= 1.0 - share[low];
            if share[high] < 1.0 {
                rich += 1;
                order[poor] = high as u8;
                poor += 1;
            }
        }
        Self { slots }
    }

    /// Whether there is nothing to draw from.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The index that a uniform random word draws.
    #[inline]
    pub(crate) fn draw(&self, word: u64) -> usize {
        // High word of the product: the column. Low word: a fresh uniform inside it.
        let product = u128::from(word) * self.slots.len() as u128;
        let (column, inside) = ((product >> 64) as usize, product as u64);
        let slot = self.slots[column].0;
        if inside < slot & !0xff { column } else { (slot & 0xff) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of each index, read off the table instead of drawn.
    #[test]
    fn identity_columns_add_up_to_the_weights() {
        let mut weights: Vec<f64> = (0..100).map(|k| 0.9f64.powi(k) * f64::from(1 + k % 3)).collect();
        weights[17] = 0.0;
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let table = AliasTable::new(&mut weights.clone(), &mut Vec::new());
        let mut found = vec![0.0; weights.len()];
        for (column, slot) in table.slots.iter().enumerate() {
            let keep = (slot.0 & !0xff) as f64 / 2f64.powi(64);
            found[column] += keep / 100.0;
            found[(slot.0 & 0xff) as usize] += (1.0 - keep) / 100.0;
        }
        for (got, want) in found.iter().zip(&weights) {
            assert!((got - want).abs() < 1e-14, "{got} {want}");
        }
    }
}
