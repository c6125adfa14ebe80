//! Tests of the methods that search for a model.

mod sdsc_sp2;
mod statsmodels;
