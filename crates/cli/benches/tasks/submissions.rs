//! Submissions one by one: each is acknowledged before its client sends the next.

use std::time::Instant;

use tollgate_client::ApiClient;
use tollgate_client::types::{JobRequest, SubmitResponse};

use crate::median;
use crate::site::BenchSite;
use crate::yardsticks::InsertLoop;

/// Number of submissions of each client in a round.
const SUBMISSIONS: u32 = 100;
/// Number of clients at once in the last row.
const CLIENTS: u32 = 8;

/// Measures submissions a second beside inserts a second.
pub(crate) fn measure(site: &BenchSite, rounds: usize) {
    let inserts = InsertLoop::create(site.folder());
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        rates[0].push(inserts.rate(SUBMISSIONS));
        rates[1].push(by_command(site));
        site.wait_until_idle();
        rates[2].push(by_http(site, 1));
        site.wait_until_idle();
        rates[3].push(by_http(site, CLIENTS));
        site.wait_until_idle();
    }
    let [inserts, command, http, many] = rates.map(|rates| median(rates.into_iter()));
    println!(
        "\nsubmissions of `true`, one by one, medians of {rounds} rounds; each is on disk when it is answered"
    );
    println!("{inserts:8.0} one-row inserts a second, each with a full sync");
    let rows = [
        (command, "`tollgate submit`", 0.6, inserts),
        (http, "HTTP, one client", 0.8, inserts),
        (many, "HTTP, eight clients", 5.0, http.min(0.8 * inserts)),
    ];
    for (rate, name, goal, yardstick) in rows {
        println!(
            "{rate:8.0} a second; {:.2} of the inserts (goal {:.2}): {name}",
            rate / inserts,
            goal * yardstick / inserts,
        );
    }
}

fn by_command(site: &BenchSite) -> f64 {
    let began = Instant::now();
    for _ in 0..SUBMISSIONS {
        let words = ["submit", "-q", "-o", "none", "-e", "1s", "--", "/bin/true"];
        assert!(site.tollgate(&words).1, "it is refused");
    }
    f64::from(SUBMISSIONS) / began.elapsed().as_secs_f64()
}

fn by_http(site: &BenchSite, clients: u32) -> f64 {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = ApiClient::connect(&site.socket()).expect("it answers");
                let job: JobRequest = serde_json::from_value(serde_json::json!({
                    "command": ["/bin/true"],
                    "estimate_s": 1.0,
                }))
                .expect("a request");
                for _ in 0..SUBMISSIONS {
                    let _: SubmitResponse = client.post("/v1/jobs", &job).expect("it is accepted");
                }
            });
        }
    });
    f64::from(SUBMISSIONS * clients) / began.elapsed().as_secs_f64()
}
