//! What the service costs, measured from outside: a service of its own process, over an engine that
//! runs nothing.
//!
//! `cargo bench -p tollgate-service` asks for quotes over connections that are kept alive;
//! `cargo bench -p tollgate-service -- idle [JOBS]` fills a store with jobs that have finished (a
//! million unless said) and looks at memory and processor time of a service that has nothing to do;
//! `cargo bench -p tollgate-service -- floods` asks for one user's quotes while another user floods it.

mod floods;
mod idle;
mod quotes;
mod server;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["__serve", folder] => server::serve(folder.as_ref()),
        ["floods", ..] => floods::measure(),
        ["idle", jobs, ..] if *jobs != "--bench" => idle::measure(jobs.parse().expect("a number")),
        ["idle", ..] => idle::measure(1_000_000),
        _ => quotes::measure(),
    }
}
