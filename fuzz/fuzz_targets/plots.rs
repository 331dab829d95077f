#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    levytilt_run::invariants::plots(bytes);
});
