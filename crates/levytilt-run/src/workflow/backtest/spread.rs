//! Choose some of the windows, evenly spread, so that a larger choice holds every smaller one.

/// The first `count` numbers below `all` in the order of van der Corput: after every one they are about evenly spread, and those
/// of a smaller count come first.
pub fn spread(count: usize, all: usize) -> Vec<usize> {
    if all == 0 {
        return Vec::new();
    }
    let bits = all.next_power_of_two().trailing_zeros();
    let reversed = |k: usize| if bits == 0 { 0 } else { k.reverse_bits() >> (usize::BITS - bits) };
    // The powers of two above `all` are left out: their numbers are scaled down, and each kept where it comes first.
    let mut taken = vec![false; all];
    let place = |k: usize| (reversed(k) * all) >> bits;
    (0..1usize << bits).map(place).filter(|&k| !std::mem::replace(&mut taken[k], true)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_every_number_once_and_choices_are_nested() {
        for all in [1, 2, 3, 7, 8, 281, 314] {
            let whole = spread(all, all);
            let mut sorted = whole.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(i, k)| i == *k) && whole.len() == all, "{all}: {whole:?}");
            assert!((0..all).all(|count| spread(count, all) == whole[..count]));
        }
        assert!(spread(5, 0).is_empty());
    }

    #[test]
    fn identity_choices_are_spread() {
        // No gap is more than twice the mean one, but for what rounding to whole numbers adds.
        for count in [10, 60, 150, 200] {
            let mut chosen = spread(count, 314);
            chosen.sort_unstable();
            let widest = chosen.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest as f64 <= 2.0 * 314.0 / count as f64 + 1.0, "{count}: {widest}");
        }
    }
}
