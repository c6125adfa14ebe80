//! Says when the service goes away, and when it is back.

use std::time::Duration;

use http_body_util::BodyExt;
use tollgate_client::{ForwardedRequest, ServiceForwarder};

use crate::output::messages::Verbosity;

/// The time between two tries to reach a service that is away, and after a stream that has ended.
const RETRY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

/// Follows the events of the service for as long as the window is open. The stream breaks when the service ends.
pub(super) async fn watch(service: ServiceForwarder) {
    let mut is_away = false;
    loop {
        let Err(problem) = follow(&service, &mut is_away).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if !is_away {
            is_away = true;
            Verbosity::Notes.note(format_args!("{problem}: the window waits for the service"));
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Reads events until the stream ends. The error says why there is no stream.
async fn follow(service: &ServiceForwarder, is_away: &mut bool) -> Result<(), String> {
    let request = ForwardedRequest::get("/v1/events");
    let answer = service.forward(request).await;
    let answer = answer.map_err(|error| error.to_string())?;
    if !answer.status().is_success() {
        return Err(format!("the service answered {}", answer.status()));
    }
    if std::mem::take(is_away) {
        Verbosity::Notes.note("the service answers again");
    }
    let mut body = answer.into_body();
    // A stream that breaks ends, too: the next try finds out why.
    while let Some(Ok(_)) = body.frame().await {}
    Ok(())
}
