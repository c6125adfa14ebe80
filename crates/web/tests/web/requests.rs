//! Requests of browsers, with and without a session.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use jiff::Zoned;
use serde_json::Value;
use tollgate_client::types::{JobDetails, JobRequest};
use tollgate_client::{ServiceForwarder, ServiceTarget};
use tollgate_overview::output::{OutputReader, OutputTail, RunHost};
use tollgate_web::{
    TypedJob, UserHost, WindowClient, WindowOrigins, WindowServer, WindowSessions, WindowSettings,
    WindowUser, window_router,
};

/// A host on which nothing can be submitted.
struct NoHost;

impl UserHost for NoHost {
    fn job_request(&self, _: &TypedJob, _: Zoned) -> Result<JobRequest, String> {
        Err("Command: expected a program".to_owned())
    }

    fn dir(&self) -> Option<String> {
        None
    }
}

impl OutputReader for NoHost {
    fn output_tail(&self, _: &JobDetails, _: u64, _: RunHost) -> Option<OutputTail> {
        None
    }
}

/// A window before a service that does not answer.
struct TestWindow {
    sessions: WindowSessions,
    router: TowerToHyperService<axum::Router>,
}

impl TestWindow {
    fn new(read_only: bool) -> Self {
        let sessions = WindowSessions::default();
        let socket = PathBuf::from("/no/such/socket");
        let router = window_router(WindowSettings {
            clients: Box::new(Arc::new(WindowClient {
                service: ServiceForwarder::new(ServiceTarget::Socket(socket)),
                host: Arc::new(NoHost),
            })),
            sessions: sessions.clone(),
            origins: WindowOrigins::new(([127, 0, 0, 1], 4711).into(), None),
            read_only,
            server: WindowServer::Open,
        });
        Self {
            sessions,
            router: TowerToHyperService::new(router),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:4711");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.router.call(request).await.unwrap()
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> StatusCode {
        self.send(Method::GET, path, headers, "").await.status()
    }

    /// Opens a session as the script does, and returns its header.
    async fn session(&self) -> String {
        let ticket = self.sessions.new_ticket(WindowUser(7)).unwrap();
        let answer = self.trade(ticket.reveal()).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        format!("Bearer {}", body["session"].as_str().unwrap())
    }

    async fn trade(&self, ticket: &str) -> Response<Body> {
        let json = [("content-type", "application/json")];
        let body = serde_json::json!({ "ticket": ticket }).to_string();
        self.send(Method::POST, "/ui/session", &json, &body).await
    }
}

const DATA: [&str; 8] = [
    "/v1/jobs",
    "/v1/events",
    "/ui/page/now",
    "/ui/page/jobs",
    "/ui/page/job?id=1",
    "/ui/page/submit",
    "/ui/page/how-well",
    "/ui/page/machine",
];

#[tokio::test]
async fn shell_is_open_to_all_and_data_needs_a_session() {
    let window = TestWindow::new(false);
    for path in [
        "/",
        "/now",
        "/jobs",
        "/job?id=7",
        "/submit",
        "/how-well",
        "/machine",
        "/ui/window.js",
        "/ui/style.css",
        "/ui/icon.svg",
    ] {
        assert_eq!(window.get(path, &[]).await, StatusCode::OK, "{path}");
    }
    for path in DATA {
        assert_eq!(
            window.get(path, &[]).await,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
        for wrong in ["Bearer tollgate_0", "Basic x", "Bearer "] {
            let status = window.get(path, &[("authorization", wrong)]).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        }
    }
}

#[tokio::test]
async fn session_reaches_the_service() {
    let window = TestWindow::new(false);
    let session = window.session().await;
    for path in DATA.iter().filter(|path| **path != "/ui/page/submit") {
        // The service does not answer, which the window says.
        let status = window.get(path, &[("authorization", &session)]).await;
        assert_eq!(status, StatusCode::BAD_GATEWAY, "{path}");
    }
    let form = window
        .get("/ui/page/submit", &[("authorization", &session)])
        .await;
    assert_eq!(form, StatusCode::OK);
}

#[tokio::test]
async fn ticket_is_refused_a_second_time() {
    let window = TestWindow::new(false);
    let ticket = window.sessions.new_ticket(WindowUser(7)).unwrap();
    assert_eq!(window.trade(ticket.reveal()).await.status(), StatusCode::OK);
    assert_eq!(
        window.trade(ticket.reveal()).await.status(),
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn ended_session_is_refused() {
    let window = TestWindow::new(false);
    let session = window.session().await;
    let header = [("authorization", session.as_str())];
    let ended = window
        .send(Method::POST, "/ui/session/end", &header, "")
        .await;
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    assert_eq!(
        window.get("/v1/jobs", &header).await,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn foreign_pages_and_names_are_refused_also_with_a_session() {
    let window = TestWindow::new(false);
    let session = window.session().await;
    let header = ("authorization", session.as_str());
    for path in ["/", "/v1/jobs", "/ui/page/now"] {
        let foreign = window
            .get(path, &[header, ("origin", "http://127.0.0.1:4712")])
            .await;
        assert_eq!(foreign, StatusCode::FORBIDDEN, "{path}");
        let foreign = window
            .get(path, &[header, ("sec-fetch-site", "cross-site")])
            .await;
        assert_eq!(foreign, StatusCode::FORBIDDEN, "{path}");
        let renamed = window.get(path, &[header, ("host", "evil.example")]).await;
        assert_eq!(renamed, StatusCode::MISDIRECTED_REQUEST, "{path}");
    }
}

#[tokio::test]
async fn read_only_window_changes_nothing() {
    let window = TestWindow::new(true);
    let session = window.session().await;
    let header = [
        ("authorization", session.as_str()),
        ("content-type", "application/json"),
    ];
    for (method, path) in [
        (Method::POST, "/v1/jobs"),
        (Method::POST, "/v1/quotes"),
        (Method::DELETE, "/v1/jobs/1"),
        (Method::POST, "/ui/submit"),
        (Method::POST, "/ui/jobs/1/cancel"),
    ] {
        let answer = window.send(method.clone(), path, &header, "{}").await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
    }
    assert_eq!(
        window.get("/v1/jobs", &header).await,
        StatusCode::BAD_GATEWAY
    );
}

#[tokio::test]
async fn form_that_is_not_understood_is_answered_with_the_reason() {
    let window = TestWindow::new(false);
    let session = window.session().await;
    let header = [
        ("authorization", session.as_str()),
        ("content-type", "application/json"),
    ];
    let body = r#"{"command": "true"}"#;
    let answer = window.send(Method::POST, "/ui/quote", &header, body).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let text = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&text).contains("Command: expected a program"));
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_it() {
    let window = TestWindow::new(false);
    for (path, host) in [
        ("/", "127.0.0.1:4711"),
        ("/v1/jobs", "127.0.0.1:4711"),
        ("/none", "127.0.0.1:4711"),
        ("/", "evil.example"),
    ] {
        let request = Request::builder().uri(path).header("host", host);
        let answer = window
            .router
            .call(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let headers = answer.headers();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
        assert_eq!(headers["cache-control"], "no-store");
    }
}
