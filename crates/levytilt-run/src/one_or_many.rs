//! Write a figure of one dimension plainly and those of several as a list, in the order of the dimensions.

use serde::{Deserialize, Serialize};

/// One value, or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    /// The value of a single dimension.
    One(T),
    /// One value per dimension.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values of all dimensions.
    pub fn new(mut values: Vec<T>) -> Self {
        match (values.len(), values.pop()) {
            (1, Some(one)) => Self::One(one),
            (_, last) => {
                values.extend(last);
                Self::Many(values)
            }
        }
    }

    /// The values one after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        match self {
            Self::One(one) => std::slice::from_ref(one).iter(),
            Self::Many(many) => many.iter(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_plain_and_many_are_a_list() {
        let text = |values: Vec<f64>| serde_json::to_string(&OneOrMany::new(values)).unwrap();
        assert_eq!([text(vec![1.5]), text(vec![1.5, 2.0]), text(vec![])], ["1.5", "[1.5,2.0]", "[]"]);
        for values in [vec!["a".to_string()], vec!["a".to_string(), "b".to_string()]] {
            let written = serde_json::to_string(&OneOrMany::new(values.clone())).unwrap();
            let read: OneOrMany<String> = serde_json::from_str(&written).unwrap();
            assert_eq!(read.iter().cloned().collect::<Vec<_>>(), values);
        }
    }
}
