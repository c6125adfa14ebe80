//! Tests of the runner with real processes.

mod common;
mod conformance;
mod crashes;
mod leases;
mod leaves_nothing;
mod limits;
mod other_users;
mod scripts;
mod shares;
mod signals;
mod silent_files;
mod streams;
mod suspensions;
mod tasks;
