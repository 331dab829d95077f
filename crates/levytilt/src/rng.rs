//! Give every path its own random stream, so that results do not depend on threads.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator used everywhere: its state is small, so those of 500 paths fit into the L1 cache.
pub type StreamRng = Xoshiro256PlusPlus;

/// The random stream number `index` of a seed.
///
/// Both words go through a bijective mixer before they are combined, so that neighbouring seeds and streams are
/// unrelated; with 256 bits of state an overlap of two streams is less likely than a hardware fault.
pub fn stream(seed: u64, index: u64) -> StreamRng {
    StreamRng::seed_from_u64(mix(seed).wrapping_add(mix(index ^ 0x6a09_e667_f3bc_c909)))
}

/// Finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words with full avalanche.
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, index| stream(seed, index).next_u64();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(2, 1));
        assert_ne!(first(1, 2), first(1, 3));
    }
}
