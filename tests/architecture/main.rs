//! The architecture rules that a compiler cannot check.
//!
//! | module | rule |
//! |---|---|
//! | [`circles`] | at most 16 files of a crate import each other in a circle |
//! | [`dependencies`] | a crate uses only crates on its list, all of them above it |
//! | [`code_map`] | the table of crates in `ARCHITECTURE.md` follows the manifests, and the list allows nothing unused |
//! | [`purity`] | pure crates read no clock, file, socket, environment or global random source |
//! | [`licences`] | external crates have a licence that `deny.toml` lists, and are not banned |
//! | [`book`] | every page of the book is listed, every link of a document leads somewhere |
//! | [`blocks`] | every block of a document states whether it is run |
//! | [`prose`] | documents, help and comments are written in plain English, with the words of the field |
//! | [`sentences`] | a sentence of a document or a comment has at most 30 words |
//! | [`bindings`] | variables, parameters, fields and import aliases are named by the words of the field |
//! | [`messages`] | string literals are written in plain English, too |
//! | [`module_map`] | the map at the top of a `lib.rs` names every module of the crate |
//! | [`pipes`] | no reader of a pipe in a script of `.ci` stops early |
//! | [`scratch`] | tests of each package write in a directory of their own |
//! | [`names`] | no two types share a name, a name says which type it is, and functions use the words of the field |
//!
//! [`layers`] is the list that the first two modules check against.

mod bindings;
mod blocks;
mod book;
mod circles;
mod code_map;
mod dependencies;
mod layers;
mod licences;
mod messages;
mod metadata;
mod module_map;
mod names;
mod pipes;
mod prose;
mod purity;
mod scratch;
mod sentences;
