//! Tests of the whole service: its controller, store, API and network, on simulated engines and
//! clocks.

mod common;
mod simulation;

mod alter;
mod arrays;
mod books;
mod calibration;
mod controller;
mod damage;
mod dependencies;
mod drain;
mod events;
mod faults;
mod followers;
mod grants;
mod labels;
mod learning;
mod limits;
mod maintenance;
mod network;
mod objectives;
mod openapi;
mod probabilities;
mod promises;
mod records;
mod recovery;
mod resources;
mod scripts;
mod shadow;
mod takeover;
mod terminal;
mod time_limits;
mod unpromised;
mod whole_system;
mod workers;
