//! Write text of a user into a page or a picture.

/// Text of a user as text of a page or a picture.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
