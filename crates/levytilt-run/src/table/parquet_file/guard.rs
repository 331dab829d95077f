//! Take a panic of the library that unpacks Parquet files for what it is: a damaged file.
//!
//! Some numbers of a page can only be seen once it is unpacked, and the library stops the program where they are wrong.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What the library reads; if it panics, nothing is printed, and the error says that the file is damaged, as any other of its errors.
pub fn guarded<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let tell = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                tell(panic);
            }
        }));
    });
    let before = GUARDED.replace(true);
    // After an error nothing more is read of the file, so that nobody sees what was left half done.
    let found = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    match found {
        Ok(read) => read.map_err(|error| format!("is damaged: {error}")),
        Err(_) => Err("is damaged: a page does not hold what it should".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_a_panic_is_a_damaged_file() {
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        let lists: [&[u8]; 2] = [&[], &[1]];
        let said = lists.map(|list| guarded(|| Ok(list[0])));
        assert!(said[0].as_ref().is_err_and(|said| said.starts_with("is damaged")) && said[1] == Ok(1), "{said:?}");
        assert!(!GUARDED.get());
    }
}
