//! The overview from fixed answers: screens, keys, hostile names, and what a terminal makes of the bytes.

mod answers;
mod hostile;
mod keys;
mod painting;
mod screens;
