//! Runs work in parallel and delivers the results in order, so that the output does not depend on
//! the number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Returns the number of processors that this process may use.
pub fn n_processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Runs `work` for each number below `count` on at most `threads` threads. The results go to `sink`
/// in the order of the numbers, each as soon as all earlier results are done.
///
/// # Errors
/// The error of the lowest number that failed, or the first error of `sink`. Work that has not
/// begun by then is skipped.
pub fn run_in_order<T: Send, E: Send>(
    count: usize,
    threads: NonZeroUsize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    mut sink: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let workers = threads.get().min(count);
    if workers <= 1 {
        return (0..count).try_for_each(|n| sink(n, work(n)?));
    }
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count || sender.send((n, work(n))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let done = deliver_in_order(results.into_iter(), count, &mut sink);
        if done.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        done
    })
}

/// Delivers results, which arrive in any order, in the order of their numbers.
fn deliver_in_order<T, E>(
    results: impl Iterator<Item = (usize, Result<T, E>)>,
    count: usize,
    sink: &mut impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let mut early: Vec<Option<Result<T, E>>> = (0..count).map(|_| None).collect();
    let mut next = 0;
    for (n, result) in results {
        early[n] = Some(result);
        while let Some(result) = early.get_mut(next).and_then(Option::take) {
            sink(next, result?)?;
            next += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn run(n: usize, failing: &[usize]) -> (Result<(), usize>, Vec<usize>) {
        let mut seen = Vec::new();
        let work = |i: usize| {
            if failing.contains(&i) {
                Err(i)
            } else {
                Ok(i * i)
            }
        };
        let done = run_in_order(20, threads(n), work, |i, square| {
            assert_eq!(square, i * i);
            seen.push(i);
            Ok(())
        });
        (done, seen)
    }

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        for n in [1, 2, 7, 40] {
            assert_eq!(run(n, &[]), (Ok(()), (0..20).collect()));
        }
    }

    #[test]
    fn error_of_the_lowest_index_is_returned() {
        for n in [1, 2, 7, 40] {
            assert_eq!(run(n, &[5, 11]), (Err(5), (0..5).collect()));
        }
    }

    #[test]
    fn failing_sink_stops_the_run() {
        let done = run_in_order(
            9,
            threads(3),
            Ok,
            |i, _| if i == 2 { Err("full") } else { Ok(()) },
        );
        assert_eq!(done, Err("full"));
    }
}
