#![no_main]

#[path = "../../crates/levytilt/tests/kernels/promises.rs"]
#[allow(dead_code)]
mod promises;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    promises::nodes_from(bytes);
});
