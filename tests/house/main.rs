//! The house rules that a compiler cannot check.
//!
//! | module | rule |
//! |---|---|
//! | [`dependencies`] | a room uses only rooms above it, and only those on its list |
//! | [`purity`] | pure rooms never read a clock, a file, a socket, the environment or a global random source |
//! | [`licences`] | what comes in from outside bears a licence on the list of `deny.toml`, and is not banned there |
//! | [`blocks`] | every block of a document says whether it is run |
//! | [`prose`] | documents and help are written in plain English, with the words of the field |
//!
//! [`rooms`] is the list that the first two check against.

mod blocks;
mod dependencies;
mod layers;
mod licences;
mod metadata;
mod prose;
mod purity;
