//! What the structures of a Parquet file hold, by the numbers of their fields.
//!
//! The library that reads them goes by the numbers alone: a field of another kind than its number says would be read as what
//! it is not, and what was looked at before would not be what is read. Fields that are not listed are passed over by both.

use super::thrift::{Fields, Form};
use Form::{Bytes, Double, Integer, List, Small, Structure, Truth};

/// The description at the end of a file.
pub const FILE: &Fields = &[
    (1, Integer),
    (2, List(&Structure(COLUMN))),
    (3, Integer),
    (4, List(&Structure(ROW_GROUP))),
    (5, List(&Structure(PAIR))),
    (6, Bytes),
    (7, List(&Structure(ONE_OF_EMPTY))),
    (8, Structure(&[(1, Structure(ENCRYPTION)), (2, Structure(ENCRYPTION))])),
    (9, Bytes),
];

/// A column, or a group of them, in the tree of columns.
pub const COLUMN: &Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Bytes),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Integer),
    (9, Integer),
    (10, Structure(LOGICAL)),
];

/// What the values of a column mean.
const LOGICAL: &Fields = &[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Structure(&[(1, Integer), (2, Integer)])),
    (6, EMPTY),
    (7, Structure(CLOCK)),
    (8, Structure(CLOCK)),
    (10, Structure(&[(1, Small), (2, Truth)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Structure(&[(1, Small)])),
    (17, Structure(&[(1, Bytes)])),
    (18, Structure(&[(1, Bytes), (2, Integer)])),
];
const CLOCK: &Fields = &[(1, Truth), (2, Structure(ONE_OF_EMPTY))];
const EMPTY: Form = Structure(&[]);
const ONE_OF_EMPTY: &Fields = &[(1, EMPTY), (2, EMPTY), (3, EMPTY)];
const PAIR: &Fields = &[(1, Bytes), (2, Bytes)];
const ENCRYPTION: &Fields = &[(1, Bytes), (2, Bytes), (3, Truth)];

const ROW_GROUP: &Fields = &[
    (1, List(&Structure(CHUNK))),
    (2, Integer),
    (3, Integer),
    (4, List(&Structure(&[(1, Integer), (2, Truth), (3, Truth)]))),
    (5, Integer),
    (6, Integer),
    (7, Integer),
];

/// A column in a group of rows.
const CHUNK: &Fields = &[
    (1, Bytes),
    (2, Integer),
    (3, Structure(CHUNK_DESCRIPTION)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Structure(&[(1, EMPTY), (2, Structure(&[(1, List(&Bytes)), (2, Bytes)]))])),
    (9, Bytes),
];
const CHUNK_DESCRIPTION: &Fields = &[
    (1, Integer),
    (2, List(&Integer)),
    (3, List(&Bytes)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, List(&Structure(PAIR))),
    (9, Integer),
    (10, Integer),
    (11, Integer),
    (12, Structure(STATISTICS)),
    (13, List(&Structure(&[(1, Integer), (2, Integer), (3, Integer)]))),
    (14, Integer),
    (15, Integer),
    (16, Structure(&[(1, Integer), (2, List(&Integer)), (3, List(&Integer))])),
    (17, Structure(&[(1, Structure(BOX)), (2, List(&Integer))])),
];
const STATISTICS: &Fields =
    &[(1, Bytes), (2, Bytes), (3, Integer), (4, Integer), (5, Bytes), (6, Bytes), (7, Truth), (8, Truth), (9, Integer)];
const BOX: &Fields =
    &[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)];

/// The head of a page.
pub const PAGE: &Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (5, Structure(DATA)),
    (6, EMPTY),
    (7, Structure(DICTIONARY)),
    (8, Structure(DATA_2)),
];
/// What it says of data of the first version.
pub const DATA: &Fields = &[(1, Integer), (2, Integer), (3, Integer), (4, Integer), (5, Structure(STATISTICS))];
/// Of a dictionary.
pub const DICTIONARY: &Fields = &[(1, Integer), (2, Integer), (3, Truth)];
/// Of data of the second version.
pub const DATA_2: &Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Truth),
    (8, Structure(STATISTICS)),
];
