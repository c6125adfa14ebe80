//! Says when the service goes away, and when it is back.

use std::time::Duration;

use http_body_util::BodyExt;
use tollgate_client::{ClientError, ForwardedRequest, ServiceForwarder};

use crate::output::messages::Verbosity;

/// The time between two tries to reach a service that is away.
const RETRY: Duration = Duration::from_secs(1);

/// Follows the events of the service for as long as the window is open. The stream breaks when the service ends.
pub(super) async fn watch(service: ServiceForwarder) {
    let mut is_away = false;
    loop {
        match follow(&service, &mut is_away).await {
            Ok(()) => {}
            Err(error) if !is_away => {
                is_away = true;
                Verbosity::Notes.note(format_args!("{error}: the window waits for the service"));
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Reads events until the stream ends.
async fn follow(service: &ServiceForwarder, is_away: &mut bool) -> Result<(), ClientError> {
    let request = ForwardedRequest::get("/v1/events");
    let mut body = service.forward(request).await?.into_body();
    if std::mem::take(is_away) {
        Verbosity::Notes.note("the service answers again");
    }
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}
