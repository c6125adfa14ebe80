//! The JSON of messages, records and states, which sites of different versions exchange and keep.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tollgate_federation::durable::DurableState;
use tollgate_federation::{
    Ballot, Membership, ReportRefusal, SiteId, SiteMeasurement, SiteMessage, SiteRecord,
    SiteReport, SiteValue,
};
use tollgate_model::Instant;

const BALLOT: Ballot = Ballot {
    counter: 12,
    site: SiteId(3),
};
const COOL: Instant = Instant::from_micros(1_700_000_000_000_000);

/// Returns the JSON of each value, one a line, after reading it back.
fn lines<T: Serialize + DeserializeOwned + PartialEq + Debug>(values: &[T]) -> String {
    let line = |value: &T| {
        let text = serde_json::to_string(value).expect("JSON");
        let back: T = serde_json::from_str(&text).expect("the same JSON");
        assert_eq!(&back, value);
        text
    };
    values.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn records() -> [SiteRecord; 6] {
    let ballot = BALLOT;
    [
        SiteRecord::Promised { ballot },
        SiteRecord::Relinquished { ballot },
        SiteRecord::Given {
            ballot,
            to: SiteId(3),
            cool_until: COOL,
        },
        SiteRecord::Confirmed { ballot },
        SiteRecord::Added {
            ballot: BALLOT.next(SiteId(1)),
            from: SiteId(1),
            cool_until: COOL,
        },
        SiteRecord::Dropped {
            epoch: 8,
            site: SiteId(2),
        },
    ]
}

#[test]
fn message_json_is_stable() {
    let ballot = BALLOT;
    let report = SiteReport {
        measured: SiteMeasurement {
            staying: SiteValue(-0.25),
            ..SiteMeasurement::of_worth(1.5)
        },
        pending: 2,
    };
    let answer = |report| SiteMessage::Answer { ballot, report };
    let membership = Membership::new(7, [SiteId(0), SiteId(1)]);
    let messages = [
        SiteMessage::Propose {
            ballot,
            worth: SiteValue(1.5),
        },
        answer(Ok(report)),
        answer(Err(ReportRefusal::Busy)),
        answer(Err(ReportRefusal::Promised(ballot))),
        answer(Err(ReportRefusal::Unreachable)),
        SiteMessage::Handover {
            ballot,
            donor: SiteId(1),
        },
        SiteMessage::Request { ballot },
        SiteMessage::Given { ballot },
        SiteMessage::Denied { ballot },
        SiteMessage::Confirm { ballot },
    ];
    insta::assert_snapshot!(lines(
        &messages.map(|message| membership.envelope(SiteId(0), message))
    ));
}

#[test]
fn record_json_is_stable() {
    insta::assert_snapshot!(lines(&records()));
}

#[test]
fn state_json_is_stable() {
    let mut state = DurableState::new(7, 6);
    for record in records() {
        state.apply(record);
    }
    insta::assert_snapshot!(lines(&[state]));
}
