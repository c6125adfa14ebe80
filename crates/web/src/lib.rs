//! The window: pages about a service for a browser, and the router that serves them.
//!
//! | module | contents |
//! |---|---|
//! | [`router`](window_router) | the paths of the window |
//! | [`serve`](serve_loopback) | connections of browsers on a loopback address, and the prefix of a reverse proxy |
//! | [`guard`](WindowOrigins) | checks of every request, headers of every answer |
//! | [`sessions`](WindowSessions) | one-time tickets and sessions |
//! | [`in_process`](RouterService) | a router as a service in the same process |
//! | `forwarding` | requests that go to the service as they are |
//! | [`pages`] | the parts of pages, each with what the service is asked for |
//! | [`user_host`](UserHost) | the host on which the user works |
//! | [`charts`] | SVG that follows the style sheet |
//! | `templates` | HTML from templates |
//!
//! The window is rendered here and not in the browser. A page is a static shell without data. Its script, `window.js`,
//! fetches HTML from `ui/page/..` with the session in a header, puts it in place, and does so again after events of the
//! service. All figures come from the paths of the API, which every other client has too.
//!
//! No link of a page is absolute, and no page lies in a directory, so that the window works below any prefix.

pub mod charts;
mod forwarding;
mod guard;
mod in_process;
pub mod pages;
mod router;
mod serve;
mod sessions;
mod templates;
mod user_host;

pub use guard::{GuardError, WindowOrigins};
pub use in_process::RouterService;
pub use router::{WindowClient, WindowClients, WindowServer, WindowSettings, window_router};
pub use serve::{BadWindowPrefix, WindowPrefix, router_below, serve_loopback};
pub use sessions::{OpenSession, SESSION_TIME, TICKET_TIME, WindowSessions, WindowUser};
pub use user_host::{TypedJob, UserHost};
