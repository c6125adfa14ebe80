//! Properties of fields that a job need not have: no value of one, however odd, loses the job or moves
//! what it must have.

use proptest::prelude::*;
use tollgate_model::{Instant, Span};
use tollgate_trace::{Trace, TraceFormat};

use crate::record_template::{RecordTemplate, TEMPLATES};

/// The field of run times that need not be there, because start and end are.
const ELAPSED: &str = "elapsed";

/// The fields that a job must have.
fn needed(trace: &Trace) -> Vec<(u64, Instant, Span)> {
    let jobs = trace.jobs.iter();
    jobs.map(|job| (job.number, job.submit, job.runtime))
        .collect()
}

/// Generates text that no field of this format means, and that ends no field of it.
fn any_junk(format: TraceFormat) -> BoxedStrategy<String> {
    let word = prop_oneof![
        "[a-zA-Z?!]{1,8}",
        "-[0-9]{1,30}",
        "[0-9]{16,40}",
        "[0-9]{1,3}e[0-9]{2,3}",
        "[0-9]{1,3}\\.[0-9]\\.[0-9]",
        "(NaN|inf|-inf|null|none|N/A|0|-1|-0)",
        "\u{fc}{1,3}",
    ];
    if format != TraceFormat::SlurmJson {
        return word.boxed();
    }
    let text = word.prop_map(|word| format!("\"{word}\""));
    let value =
        "(null|NaN|true|-5|1e99|\\[\\]|\\{\\}|\\[null\\]|\\{\"set\": 3\\}|[1-9][0-9]{19,29})";
    prop_oneof![text, value].boxed()
}

/// Generates a template, one of its fields, and junk for it.
fn any_damage() -> impl Strategy<Value = (RecordTemplate, &'static str, String)> {
    prop::sample::select(TEMPLATES.to_vec()).prop_flat_map(|template| {
        let fields = prop::sample::select(template.optional_fields());
        (Just(template), fields, any_junk(template.format))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn unreadable_optional_field_never_loses_a_job((template, field, junk) in any_damage()) {
        let usual = needed(&template.read(&[]));
        prop_assert_eq!(usual.len(), 2);
        let damaged = needed(&template.read(&[(field, &junk)]));
        prop_assert_eq!(damaged.len(), usual.len(), "{:?}: {} is {}", template.format, field, junk);
        // A run time of its own that can be read goes before that from start to end.
        let expected: Vec<_> = usual.iter().zip(&damaged).map(|(&(number, submit, run), &(.., found))| {
            (number, submit, if field == ELAPSED { found } else { run })
        }).collect();
        prop_assert_eq!(damaged, expected, "{:?}: {} is {}", template.format, field, junk);
    }
}

#[test]
fn templates_name_every_value_that_a_record_can_have() {
    for template in TEMPLATES {
        let trace = template.read(&[]);
        assert!(trace.has_estimate(1), "{:?}", template.format);
        assert_eq!(trace.jobs[1].procs, 4, "{:?}", template.format);
        assert_eq!(trace.jobs[1].runtime, Span::from_secs(40));
        let names = trace.metadata.as_ref().unwrap();
        assert!(names.user.get(1).is_some(), "{:?}", template.format);
        let usage = trace.usage(1);
        assert!(
            usage.requested_memory.is_some(),
            "{:?}: {usage:?}",
            template.format
        );
    }
}
