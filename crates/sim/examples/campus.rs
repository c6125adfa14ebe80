//! Measures the campus world: a year a line. `campus VARIANT SEEDS SCALE RETRY/SELECT..`.

use std::time::Instant;
use tollgate_sim::campus::{Environment, Policies, Settings, year};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut settings = match words[0].as_str() {
        "history" => Settings::history(),
        _ => Settings::default(),
    };
    settings.scale = words[2].parse().unwrap();
    let (from, to) = words[1].split_once('-').unwrap();
    for seed in from.parse().unwrap()..=to.parse().unwrap() {
        settings.seed = seed;
        let clock = Instant::now();
        let env = Environment::draw(&settings).unwrap();
        let gaps: Vec<f64> = env.sessions().gaps().map(|g| g.as_secs_f64()).collect();
        let short = gaps.iter().filter(|&&g| g < 120.0).count() as f64 / gaps.len() as f64;
        let useful: f64 = env
            .tasks()
            .iter()
            .filter(|t| t.is_good())
            .map(|t| t.runtime().as_secs_f64())
            .sum();
        println!(
            "# seed {seed} built in {:.2} s, {} gaps, mean {:.1} min, {:.2} % < 2 min, useful {:.0} Ms, base {:.1} MWh",
            clock.elapsed().as_secs_f64(),
            gaps.len(),
            gaps.iter().sum::<f64>() / gaps.len() as f64 / 60.0,
            100.0 * short,
            useful / 1e6,
            env.without_tasks().as_mwh()
        );
        let c1 = std::cell::OnceCell::new();
        for word in &words[3..] {
            let (retry, select) = word.split_once('/').unwrap();
            let mut policies = Policies {
                retry: retry.parse().unwrap(),
                select: select.parse().unwrap(),
            };
            if policies.retry.compares() {
                let f = c1.get_or_init(|| {
                    year(
                        &env,
                        &Policies {
                            retry: "x0".parse().unwrap(),
                            select: "c1".parse().unwrap(),
                        },
                    )
                    .finished(&env)
                });
                policies.retry = policies.retry.learn(f);
            }
            let clock = Instant::now();
            let y = year(&env, &policies);
            let t = y.tally;
            println!(
                "{word:32} {:7.2} MWh {:7.2} att {:6.2} ded {:6.2} min  killed {:5} unf {:4} evict {:.2}/{:.2}  alloc {:8} ded {:6}  bad killed {} left {}  {:.2} s wasted {:.0}/{:.0} Ms",
                t.marginal.as_mwh(),
                t.attributed.as_mwh(),
                t.dedicated.as_mwh(),
                t.overhead.map_or(0.0, |o| o.as_secs_f64() / 60.0),
                t.good.killed,
                t.good.unfinished,
                t.good.mean_evictions(),
                t.bad.mean_evictions(),
                t.allocations,
                t.dedicated_tasks,
                t.bad.killed,
                t.bad.unfinished,
                clock.elapsed().as_secs_f64()
            );
        }
    }
}
