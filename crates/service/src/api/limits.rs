//! What the fields of a request may hold: the checks and the published schema are made from these.

/// The shortest span, in seconds: what instants are counted in.
pub(super) const MIN_SPAN_S: f64 = 1e-6;
/// The longest span that a job, or a token, may be given, in seconds: a hundred years.
pub(super) const MAX_SPAN_S: f64 = 3.2e9;
/// The longest that a quote is held, in seconds.
pub(super) const MAX_HOLD_S: f64 = 3_600.0;
/// The most credits of an amount.
pub(super) const MAX_CREDITS: f64 = 1e12;
/// The most jobs that one waits for.
pub(super) const MAX_AFTER: usize = 1_000;
/// The longest name, in characters.
pub(super) const MAX_NAME: usize = 128;

/// No NUL character: the system takes none in arguments, variables and paths.
pub(super) const NO_NUL: &str = r"^[^\x00]*$";
/// No control character.
pub(super) const NO_CONTROL: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// The name of an environment variable.
pub(super) const VARIABLE: &str = r"^[^=\x00]+$";
/// An absolute path.
pub(super) const ABSOLUTE_PATH: &str = r"^/[^\x00]*$";
/// Numbers of tasks as in `1-1000`, `1,3,7-9` or `0-99:3%4`.
pub(super) const TASK_NUMBERS: &str =
    r"^[0-9]+(-[0-9]+)?(:[0-9]+)?(,[0-9]+(-[0-9]+)?(:[0-9]+)?)*(%[0-9]+)?$";
/// A job to start after, as in `7`, `ok:7` or `any:7`.
pub(super) const PREDECESSOR: &str = "^((ok|any):)?[0-9]+$";
