//! Promises of `plan` on exact knowledge: each is kept, whatever comes besides.

use proptest::prelude::*;
use tollgate_gate::{AdmissionDecision, GateInput, InputAck, OnEviction};
use tollgate_model::{Instant, JobId, Span};

use crate::cluster::{Cluster, Job, job, surely};

proptest! {
    /// With exact knowledge of run times every promise is kept, and jobs that were not promised change
    /// nothing: without them the same jobs end at the same times.
    #[test]
    fn promises_on_exact_knowledge_are_kept(
        nodes in 1u32..6,
        jobs in prop::collection::vec((0i64..400, 1u32..6, 1i64..300, 1i64..1500), 1..40),
    ) {
        let mut jobs = jobs;
        jobs.sort_unstable();
        let play = |keep: &dyn Fn(usize) -> bool| {
            let mut cluster = Cluster::new("plan:otherwise=reject", nodes);
            let mut ends = Vec::new();
            let mut promised = vec![false; jobs.len()];
            let mut slots = vec![None; jobs.len()];
            let mut seen = 0;
            let mut note = |cluster: &Cluster, slots: &[Option<JobId>]| {
                for &(slot, end) in &cluster.ended[seen..] {
                    let of = slots.iter().rposition(|known| *known == Some(slot)).unwrap();
                    ends.push((of, end));
                }
                seen = cluster.ended.len();
            };
            for (at, &(submit_s, procs, run_s, deadline_s)) in jobs.iter().enumerate() {
                let submit = Instant::from_secs(submit_s);
                if submit > cluster.now {
                    cluster.run_until(submit);
                    note(&cluster, &slots);
                    cluster.now = submit;
                }
                if !keep(at) {
                    continue;
                }
                let spec = cluster.spec(job(procs, run_s, deadline_s));
                let input = GateInput::Submitted {
                    spec,
                    on_eviction: OnEviction::Fail,
                    forecast: Some(surely(run_s).into()),
                };
                let before = cluster.promised.len();
                let Ok(InputAck::Job(id)) = cluster.simulation.handle(cluster.now, input) else {
                    panic!("well-formed");
                };
                slots[at] = Some(id);
                cluster.learn_run_time(id, job(procs, run_s, deadline_s));
                cluster.take_effects();
                promised[at] = cluster.promised.len() > before;
                cluster.pass();
            }
            cluster.run();
            note(&cluster, &slots);
            ends.sort_unstable();
            (promised, ends)
        };
        let (promised, ends) = play(&|_| true);
        prop_assert_eq!(ends.len(), promised.iter().filter(|&&one| one).count());
        for &(at, end) in &ends {
            let (submit_s, _, _, deadline_s) = jobs[at];
            prop_assert!(
                end <= Instant::from_secs(submit_s + deadline_s),
                "job {} ends at {}", at, end
            );
        }
        let (_, alone) = play(&|at| promised[at]);
        prop_assert_eq!(ends, alone);
    }

    /// With exact knowledge of run times no job without a promise breaks one, and each of them runs.
    #[test]
    fn jobs_without_a_promise_break_none_on_exact_knowledge(
        nodes in 1u32..6,
        jobs in prop::collection::vec((0i64..400, 1u32..6, 1i64..300, 1i64..1500, 0u32..4, 0u8..4), 1..40),
    ) {
        let mut jobs = jobs;
        jobs.sort_unstable();
        let mut cluster = Cluster::new("plan", nodes);
        let mut ended = 0;
        let mut promised: Vec<(JobId, Instant)> = Vec::new();
        let mut check = |cluster: &Cluster, promised: &mut Vec<(JobId, Instant)>| {
            for &(slot, end) in &cluster.ended[ended..] {
                if let Some(at) = promised.iter().position(|(known, _)| *known == slot) {
                    let (_, due) = promised.swap_remove(at);
                    prop_assert!(end <= due, "{:?} ends at {}, due {}", slot, end, due);
                }
            }
            ended = cluster.ended.len();
            Ok(())
        };
        for &(submit_s, procs, run_s, deadline_s, user, kind) in &jobs {
            let submit = Instant::from_secs(submit_s);
            if submit > cluster.now {
                cluster.run_until(submit);
                check(&cluster, &mut promised)?;
                cluster.now = submit;
            }
            let asked = Job {
                procs: procs.min(nodes),
                deadline_s: (kind > 0).then_some(deadline_s),
                user,
                ..job(procs, run_s, deadline_s)
            };
            let before = cluster.promised.len();
            if cluster.submit_surely(asked) && kind > 0 {
                let due = submit + Span::from_secs(deadline_s);
                promised.extend(cluster.promised[before..].iter().map(|&slot| (slot, due)));
            }
            cluster.pass();
        }
        cluster.run();
        check(&cluster, &mut promised)?;
        prop_assert_eq!(cluster.ended.len(), jobs.len());
    }

    /// A quote and the submission after it agree, and a quote of an array is monotone enough to be
    /// searched: what is promised is promised again.
    #[test]
    fn quotes_hold(nodes in 1u32..6, count in 1u32..20, run_s in 1i64..500, deadline_s in 1i64..4000) {
        let mut cluster = Cluster::new("plan", nodes);
        cluster.submit_array(job(1, 300, 3000), 4);
        let spec = cluster.spec(job(1, run_s, deadline_s));
        let quoted = cluster.simulation.gate().quote_array(cluster.now, &spec, None, count);
        let promised = cluster.submit_array(job(1, run_s, deadline_s), count);
        let is_promised = matches!(quoted, Some(AdmissionDecision::Promise { .. }));
        prop_assert_eq!(promised, if is_promised { count as usize } else { 0 });
    }
}
