//! HTML from templates. Every value is escaped unless this crate has made it.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, context};
use serde::Serialize;
use tollgate_report::svg::XmlEscaped;

use crate::router::WindowServer;
use tollgate_overview::words;

/// The templates, by name.
const TEMPLATES: [(&str, &str); 14] = [
    ("shell", include_str!("../templates/shell.html")),
    ("refusal", include_str!("../templates/refusal.html")),
    ("now", include_str!("../templates/now.html")),
    ("queue", include_str!("../templates/queue.html")),
    ("jobs", include_str!("../templates/jobs.html")),
    ("job", include_str!("../templates/job.html")),
    ("submit", include_str!("../templates/submit.html")),
    ("answer", include_str!("../templates/answer.html")),
    ("claimed", include_str!("../templates/claimed.html")),
    ("unaltered", include_str!("../templates/unaltered.html")),
    ("granted", include_str!("../templates/granted.html")),
    ("problem", include_str!("../templates/problem.html")),
    ("how-well", include_str!("../templates/how-well.html")),
    ("machine", include_str!("../templates/machine.html")),
];

/// The width and height of the bar beside a probability, in pixels.
const METER: (f64, f64) = (56.0, 10.0);

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// Renders a template with the fields of `view`. The result is well-formed XML below one element.
pub(crate) fn render(template: &str, view: &impl Serialize) -> String {
    let template = ENVIRONMENT.get_template(template);
    let template = template.expect("the name is that of a template");
    let rendered = template.render(context! { view => Serde(view) });
    rendered.unwrap_or_else(|error| panic!("a template uses what it is not given: {error:#}"))
}

/// Returns the page without data that every page is shown in.
pub(crate) fn shell(read_only: bool, server: WindowServer) -> String {
    #[derive(Serialize)]
    struct Shell {
        read_only: bool,
        has_service: bool,
        next_link: &'static str,
        gone: &'static str,
    }
    let shell = Shell {
        read_only,
        has_service: server != WindowServer::Follower,
        next_link: server.next_link(),
        gone: server.gone(),
    };
    render("shell", &shell)
}

/// Returns a template environment that reads neither files nor clocks.
fn environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(write_value);
    environment.add_filter("safe", minijinja::filters::safe);
    environment.add_filter("length", minijinja::filters::length);
    environment.add_filter("join", minijinja::filters::join);
    environment.add_filter("time", time);
    environment.add_filter("meter", meter);
    environment.add_filter("percent", words::percent);
    environment.add_filter("span", words::span);
    environment.add_filter("bytes", words::bytes);
    environment.add_filter("amount", words::amount);
    environment.add_filter("count", |number: u64, noun: &str| {
        words::count(number, noun)
    });
    environment.add_filter("clip", clip);
    environment.add_filter("lines", lines);
    environment.add_filter("sentence", sentence);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the usual delimiters differ");
    environment.set_syntax(syntax);
    for (name, text) in TEMPLATES {
        let added = environment.add_template(name, text);
        added.unwrap_or_else(|error| panic!("template {name}: {error:#}"));
    }
    environment
}

/// Writes a value. Characters with a meaning in HTML are escaped, and control characters replaced.
fn write_value(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() || value.is_none() {
        return Err(Error::new(ErrorKind::UndefinedError, "a value is missing"));
    }
    let written = match (value.is_safe(), value.as_str()) {
        (true, Some(text)) => out.write_str(text),
        (false, Some(text)) => write!(out, "{}", XmlEscaped(text)),
        (_, None) if value.kind() == ValueKind::Number => write!(out, "{value}"),
        (_, None) => write!(out, "{}", XmlEscaped(&value.to_string())),
    };
    written.map_err(|_| Error::new(ErrorKind::WriteFailure, "the text cannot be written"))
}

/// Returns an instant of the API as an element. The script shows the instant in the browser's zone.
fn time(at: &Value) -> Value {
    let Some(words) = at.as_str() else {
        return Value::from_safe_string("<span class=\"dim\">not known</span>".to_owned());
    };
    let text = words::instant(words).map_or_else(|| words.to_owned(), words::clock);
    let (words, text) = (XmlEscaped(words), XmlEscaped(&text));
    Value::from_safe_string(format!("<time datetime=\"{words}\">{text}</time>"))
}

/// Returns a sentence of the service with its instants as elements, as [`time`] does.
fn sentence(text: &str) -> Value {
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', ';', '.', ':', ')']);
        let is_instant = bare.len() >= 20 && bare.as_bytes().get(10) == Some(&b'T');
        match is_instant.then(|| words::instant(bare)).flatten() {
            Some(_) => format!(
                "{}{}",
                time(&Value::from(bare)),
                XmlEscaped(&word[bare.len()..])
            ),
            None => XmlEscaped(word).to_string(),
        }
    });
    Value::from_safe_string(words.collect::<Vec<_>>().join(" "))
}

/// Returns a probability as a bar with words beside it.
fn meter(probability: f64) -> Value {
    let (width, height) = METER;
    let is_risk = probability < words::AT_RISK;
    let (fill, words) = match is_risk {
        true => ("risk", "bad"),
        false => ("kept", "sure"),
    };
    let filled = width * probability.clamp(0.0, 1.0);
    Value::from_safe_string(format!(
        "<span class=\"p\"><svg class=\"meter\" width=\"{width}\" height=\"{height}\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"{width}\" height=\"{height}\" rx=\"2\"/>\
         <rect class=\"{fill}\" width=\"{filled:.1}\" height=\"{height}\" rx=\"2\"/></svg>\
         <span class=\"{words}\">{}</span></span>",
        XmlEscaped(&words::percent(probability))
    ))
}

/// Returns the first `most` characters of a text, with two dots if there are more.
fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns lines of text with their breaks.
fn lines(text: &str) -> Value {
    let escaped: Vec<String> = text
        .lines()
        .map(|line| XmlEscaped(line).to_string())
        .collect();
    Value::from_safe_string(escaped.join("\n"))
}
