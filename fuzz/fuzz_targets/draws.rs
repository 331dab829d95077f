#![no_main]

#[path = "../../crates/levytilt/tests/kernels/invariants.rs"]
#[allow(dead_code)]
mod invariants;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    invariants::scores_from(bytes);
});
