//! Every parser takes any text whatever: it answers or rejects, and never panics.

use proptest::prelude::*;
use tollgate_batch::{CommandAnswer, EngineKind, RecordAge};

use crate::{answer, name};

/// Recorded answers, which damage makes into texts that are nearly right.
const RECORDED: [&str; 9] = [
    "slurm/submit",
    "slurm/states",
    "slurm/limits",
    "sge/states",
    "sge/records-cancelled",
    "sge/limits",
    "htcondor/submit",
    "htcondor/states",
    "htcondor/limits",
];

fn parse_everything(answer: &CommandAnswer) {
    let job_name = name("tg.a.1");
    for kind in EngineKind::ALL {
        let dialect = kind.dialect("tollgate");
        let _ = dialect.parse_submit(answer);
        let _ = dialect.parse_cancel(answer);
        let _ = dialect.parse_limits(answer);
        if let Err(fault) = dialect.parse_states(answer) {
            assert!(!fault.to_string().is_empty());
        }
        for age in [RecordAge::Live, RecordAge::Ended] {
            let found = dialect
                .parse_by_name(&job_name, age, answer)
                .unwrap_or_default();
            assert!(found.iter().all(|job| job.is_named(&job_name)));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(exit in -1..256, output in ".{0,200}", errors in "\\PC{0,80}") {
        parse_everything(&CommandAnswer { exit, output, errors });
    }

    #[test]
    fn damaged_answers_are_parsed_or_rejected(
        which in 0..RECORDED.len(),
        at in any::<prop::sample::Index>(),
        length in 0..40_usize,
        instead in "[\\PC\n|<>:.&]{0,6}",
    ) {
        let mut message = answer(RECORDED[which]);
        let letters: Vec<char> = message.output.chars().collect();
        let at = at.index(letters.len());
        let end = (at + length).min(letters.len());
        message.output = letters[..at].iter().copied().chain(instead.chars()).chain(letters[end..].iter().copied()).collect();
        parse_everything(&message);
    }

    #[test]
    fn unknown_text_is_quoted(word in "[g-kv-z]{4,20}") {
        for kind in EngineKind::ALL {
            let message = CommandAnswer { exit: 7, output: String::new(), errors: word.clone() };
            let fault = kind.dialect("tollgate").parse_submit(&message).expect_err("no id");
            prop_assert!(fault.to_string().contains(&word), "{}", fault);
        }
    }
}
