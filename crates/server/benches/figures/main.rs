//! Cost of the service, measured from outside: a service process on an engine that runs nothing.
//!
//! `cargo bench -p tollgate-server` measures quotes over kept-alive connections. `cargo bench -p
//! tollgate-server -- idle [JOBS]` fills a store with finished jobs (default: a million) and measures memory
//! and processor time of an idle service. `cargo bench -p tollgate-server -- floods` measures one user's
//! quotes while another user floods the service.
//! `cargo bench -p tollgate-server -- desktops` measures the log-ins of a day at 1,359 computers. `cargo bench -p
//! tollgate-server -- foreign-load` counts the promises that are broken on hosts that others load.

mod desktops;
mod floods;
mod foreign_load;
mod idle;
mod quotes;
mod server;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["__serve", folder, policy] => server::serve(folder.as_ref(), policy),
        ["desktops", ..] => desktops::measure(),
        ["floods", ..] => floods::measure(),
        ["foreign-load", ..] => foreign_load::measure(),
        ["idle", jobs, ..] if *jobs != "--bench" => idle::measure(jobs.parse().expect("a number")),
        ["idle", ..] => idle::measure(1_000_000),
        _ => quotes::measure(),
    }
}
