//! Refuse NaN and infinity in results: JSON would write them as null, as if they were meant to be missing.

use anyhow::Result;
use serde::de::value::Error;
use serde::ser::{self, Error as _, Serializer};
use serde::{Deserialize, Deserializer, Serialize};

/// What to do about a number that is not finite.
const ADVICE: &str = "is not a finite number, which is a bug in this program. Nothing was written. Please report it with \
                      the command and, if possible, the data";

/// Refuse `value` if any number in it is NaN or infinite; `None` is fine.
pub fn check(value: &(impl Serialize + ?Sized)) -> Result<()> {
    Ok(value.serialize(&mut Look::default())?)
}

/// The message about a number that is not finite.
pub fn complaint(what: &str) -> String {
    format!("{what} {ADVICE}")
}

/// The JSON of `value`, indented for people, with every number in it finite.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<String> {
    check(value)?;
    Ok(serde_json::to_string_pretty(value)?)
}

/// A number that may be NaN: NaN is written as null on purpose.
pub fn or_null<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    Some(*value).filter(|value| !value.is_nan()).serialize(out)
}

/// Several of them.
pub fn or_nulls<S: Serializer>(values: &[f64], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(values.iter().map(|value| Some(*value).filter(|value| !value.is_nan())))
}

/// JSON has no NaN: a number that does not exist is null there.
pub fn null_is_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same for a list.
pub fn nulls_are_nan<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(from)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// Goes over everything that would be written and knows where it is.
#[derive(Default)]
struct Look {
    place: Vec<Step>,
}

/// From a value to one inside.
enum Step {
    Field(&'static str),
    Key(String),
    Number(usize),
}

impl Look {
    fn number(&self, value: f64) -> Result<(), Error> {
        if value.is_finite() {
            return Ok(());
        }
        let step = |step: &Step| match step {
            Step::Field(name) => (*name).to_string(),
            Step::Key(name) => name.clone(),
            Step::Number(place) => place.to_string(),
        };
        let place = self.place.iter().map(step).collect::<Vec<_>>().join(".");
        let what = if place.is_empty() { "a figure" } else { &place };
        Err(Error::custom(complaint(what)))
    }

    fn inside(&mut self, step: Step, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.place.push(step);
        value.serialize(&mut *self)?;
        self.place.pop();
        Ok(())
    }
}

/// Goes over the elements of a list, a map or a structure.
struct Elements<'a> {
    look: &'a mut Look,
    count: usize,
    key: String,
}

impl<'a> Elements<'a> {
    fn new(look: &'a mut Look) -> Result<Self, Error> {
        Ok(Self { look, count: 0, key: String::new() })
    }

    fn next(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.count += 1;
        self.look.inside(Step::Number(self.count - 1), value)
    }
}

/// Methods for what has no number in it that could be wrong.
macro_rules! pass {
    ($($method:ident $kind:ty),*) => {
        $(fn $method(self, _: $kind) -> Result<(), Error> { Ok(()) })*
    };
}

impl<'a> Serializer for &'a mut Look {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Elements<'a>;
    type SerializeTuple = Elements<'a>;
    type SerializeTupleStruct = Elements<'a>;
    type SerializeTupleVariant = Elements<'a>;
    type SerializeMap = Elements<'a>;
    type SerializeStruct = Elements<'a>;
    type SerializeStructVariant = Elements<'a>;

    pass!(serialize_bool bool, serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);
    pass!(serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64);
    pass!(serialize_char char, serialize_str &str, serialize_bytes &[u8], serialize_unit_struct &'static str);

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.number(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.number(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.inside(Step::Field(variant), value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Elements<'a>, Error> {
        Elements::new(self)
    }
}

/// What lists and tuples have in common.
macro_rules! list {
    ($($kind:ident $method:ident),*) => {
        $(impl ser::$kind for Elements<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.next(value)
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        })*
    };
}
list!(SerializeSeq serialize_element, SerializeTuple serialize_element);
list!(SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

/// What structures have in common.
macro_rules! structure {
    ($($kind:ident),*) => {
        $(impl ser::$kind for Elements<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.look.inside(Step::Field(key), value)
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        })*
    };
}
structure!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Elements<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let text = serde_json::to_string(key).map_err(Error::custom)?;
        self.key = text.trim_matches('"').to_string();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.look.inside(Step::Key(key), value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Row {
        #[serde(serialize_with = "or_null")]
        gap: f64,
        #[serde(serialize_with = "or_nulls")]
        gaps: [f64; 2],
        name: &'static str,
        score: Option<f64>,
        pair: (f32, f64),
        deep: BTreeMap<String, Vec<Shape>>,
    }

    #[derive(Serialize)]
    enum Shape {
        Empty,
        Dot(f64),
        Line { from: f64, to: f64 },
    }

    fn row() -> Row {
        let shapes = vec![Shape::Empty, Shape::Dot(1.0), Shape::Line { from: 0.0, to: 1e308 }];
        Row {
            gap: f64::NAN,
            gaps: [f64::NAN, 1.0],
            name: "NaN",
            score: None,
            pair: (1.0, -0.0),
            deep: BTreeMap::from([("a".into(), shapes)]),
        }
    }

    #[test]
    fn identity_what_is_finite_is_written_as_it_is() {
        assert_eq!(json(&row()).unwrap(), serde_json::to_string_pretty(&row()).unwrap());
        assert!(
            json(&Row { gap: f64::INFINITY, ..row() }).is_err()
                && json(&Row { gaps: [0.0, f64::INFINITY], ..row() }).is_err()
        );
    }

    #[test]
    fn identity_what_is_no_number_is_named() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let said = |row: &Row| json(row).unwrap_err().to_string();
            assert!(said(&Row { score: Some(odd), ..row() }).starts_with("score is not a finite number"));
            assert!(said(&Row { pair: (odd as f32, 0.0), ..row() }).starts_with("pair.0 is not"));
            assert!(said(&Row { pair: (0.0, odd), ..row() }).starts_with("pair.1 is not"));
            let deep = |shape: Shape| BTreeMap::from([("a".into(), vec![Shape::Empty, shape])]);
            assert!(said(&Row { deep: deep(Shape::Dot(odd)), ..row() }).starts_with("deep.a.1.Dot is not"));
            assert!(
                said(&Row { deep: deep(Shape::Line { from: 0.0, to: odd }), ..row() }).starts_with("deep.a.1.to is")
            );
        }
    }
}
