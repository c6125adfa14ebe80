//! Forests against a slow, plain reference, and their properties.

mod properties;
mod reference;
mod same_as_reference;
