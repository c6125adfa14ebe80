//! The overview from fixed answers: screens, keys, hostile names, and the bytes on a terminal.

mod answers;
mod hostile;
mod keys;
mod painting;
mod screens;
