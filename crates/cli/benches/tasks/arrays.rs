//! Arrays with a deadline beside the same arrays without one, and what is asked about a large one.

use std::path::Path;
use std::time::Instant;

use crate::median;
use crate::site::{BenchRound, BenchSite};

/// Number of rounds of each kind.
const ROUNDS: usize = 5;
/// Options of an array whose deadline is far enough for a promise.
const WITH_DEADLINE: [&str; 4] = ["-e", "1s", "-d", "+30d"];
/// Options of the same array without the deadline.
const WITHOUT: [&str; 2] = ["-e", "1s"];

/// Measures arrays of `tasks` tasks that run, and the answers about one of `n_answers` tasks.
pub(crate) fn measure(tasks: u32, n_answers: u32, program: &Path) {
    let mut site = BenchSite::start(program, "policy = \"plan\"\n");
    measure_runs(tasks, &site);
    measure_answers(n_answers, &mut site);
}

/// Measures arrays of programs that do nothing, with and without a deadline in turn.
fn measure_runs(tasks: u32, site: &BenchSite) {
    let (mut without, mut with): (Vec<BenchRound>, Vec<BenchRound>) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(site.array(tasks, &WITHOUT));
        with.push(site.array(tasks, &WITH_DEADLINE));
    }
    println!("\narrays of {tasks} tasks of `true`, medians of {ROUNDS} rounds");
    let wall_s =
        |rounds: &[BenchRound]| median(rounds.iter().map(|round| f64::from(tasks) / round.rate));
    for (name, rounds) in [("without", &without), ("with", &with)] {
        println!(
            "{:8.2} s, {:.2} s of processor time; submitted in {:.0} ms: {name} a deadline",
            wall_s(rounds),
            median(rounds.iter().map(|round| round.cpu_s)),
            median(rounds.iter().map(|round| round.answer_s)) * 1e3,
        );
    }
    println!(
        "{:8.2} times the wall-clock time because of the deadline",
        wall_s(&with) / wall_s(&without)
    );
}

/// Measures answers about an array with a deadline whose tasks run for long, with the start of the client.
fn measure_answers(tasks: u32, site: &mut BenchSite) {
    let range = format!("1-{tasks}");
    let submit = ["submit", "-q", "-o", "none", "-a", &range];
    let words = [&submit[..], &WITH_DEADLINE, &["--", "sleep", "600"]].concat();
    println!("\nan array of {tasks} tasks with a deadline, whose first tasks run");
    let id = timed(site, &words);
    for command in [
        &["status"][..],
        &["explain", &id],
        &["jobs", &id, "--format", "json"],
        &["quote", "-e", "1s", "-d", "+30d", "--", "true"],
    ] {
        timed(site, command);
    }
    println!("{:8.1} MB resident", site.resident_mb());
    let began = Instant::now();
    site.restart();
    print_ms(began, "until the service answers again after kill -9");
    timed(site, &["cancel", &id]);
    site.wait_until_idle();
}

/// Runs the program and prints how long that took. Returns its output.
fn timed(site: &BenchSite, words: &[&str]) -> String {
    let began = Instant::now();
    let (answer, succeeded) = site.tollgate(words);
    assert!(succeeded, "{words:?}: {answer}");
    print_ms(began, words[0]);
    answer
}

fn print_ms(began: Instant, what: &str) {
    println!("{:8.0} ms: {what}", began.elapsed().as_secs_f64() * 1e3);
}
