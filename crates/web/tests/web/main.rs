//! The window, from fixed answers of a service.

mod answers;
mod fragments;
mod hostile;
mod markup;
mod requests;
mod script;
