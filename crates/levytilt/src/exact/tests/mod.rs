//! Check the grid reference against closed forms, against a dense matrix, and against itself.

mod gaussian;
mod heavy;
mod input;
mod models;
