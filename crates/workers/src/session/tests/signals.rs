//! Tests of signals to attempts on the worker of a session.

use tollgate_model::WarningSignal;

use super::*;
use crate::signals::SignalReach;

#[test]
fn signal_is_sent_once_to_a_connected_worker_alone() {
    let (mut session, _) = registered_worker();
    let attempt = end(1).attempt;
    session.pool.assign(attempt, WorkerId(1));
    let signal = WarningSignal::Usr2;
    let reach = session.pool.signal(&[attempt, end(2).attempt], signal);
    let expected = SignalReach {
        sent: 1,
        unreached: 1,
    };
    assert_eq!(reach, expected, "no worker has the second one");
    let sent = session.sent();
    assert_eq!(sent, [ServerMessage::Signal(vec![attempt], signal)]);
    session.pool.disconnect(1);
    let expected = SignalReach {
        sent: 0,
        unreached: 1,
    };
    assert_eq!(session.pool.signal(&[attempt], signal), expected);
}
