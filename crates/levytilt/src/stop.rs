//! End a computation between its steps once somebody asks for it.

use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Who may ask for an end at any moment; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

/// Nobody asks for an end.
pub(crate) static NEVER: Stop = Stop::never();

impl Stop {
    /// Nobody asks.
    pub const fn never() -> Self {
        Self(None)
    }

    /// An end is asked for once `asks` says so.
    pub fn once(asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(asks)))
    }

    /// Whether an end is asked for at this moment.
    pub fn is_asked(&self) -> bool {
        self.0.as_ref().is_some_and(|asks| asks())
    }

    /// Go on, unless an end is asked for at this moment.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn go_on(&self) -> Result<()> {
        if self.is_asked() { Err(Error::Stopped { after: String::new() }) } else { Ok(()) }
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_asked()).finish()
    }
}
