//! Reader for the output of `rrdtool dump`: the database as XML, the oldest rows first.

use roxmltree::{Document, Node, ParsingOptions};
use tollgate_model::{Instant, Span};

use super::{RrdArchive, RrdDatabase, RrdSource, last_row_end};
use crate::error::RrdError;

/// Reads a database.
pub(super) fn parse(bytes: &[u8]) -> Result<RrdDatabase, RrdError> {
    let text = std::str::from_utf8(bytes).map_err(|error| RrdError::Nonsense {
        place: format!("byte {}", error.valid_up_to()),
        expected: "UTF-8",
    })?;
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)?;
    let root = document.root_element();
    if !root.has_tag_name("rrd") {
        return Err(RrdError::NotRrd);
    }
    let step: i64 = number(
        root,
        "step",
        "a positive whole number of seconds",
        |&step| step > 0,
    )?;
    let last_update = number(root, "lastupdate", "Unix seconds", |&seconds| seconds >= 0)?;
    let last_update = Instant::from_secs(last_update);
    let sources: Vec<RrdSource> = named(root, "ds").map(source).collect::<Result<_, _>>()?;
    if sources.is_empty() {
        return Err(unexpected(root, "at least one `ds`"));
    }
    let archives = named(root, "rra")
        .map(|node| archive(node, step, sources.len(), last_update))
        .collect::<Result<_, _>>()?;
    Ok(RrdDatabase {
        step: Span::from_secs(step),
        last_update,
        sources,
        archives,
    })
}

fn source(node: Node<'_, '_>) -> Result<RrdSource, RrdError> {
    let heartbeat = number(
        node,
        "minimal_heartbeat",
        "a whole number of seconds",
        |&beat| beat >= 0,
    )?;
    let bound = |name| -> Result<Option<f64>, RrdError> {
        let value: f64 = number(node, name, "a number", |_| true)?;
        Ok((!value.is_nan()).then_some(value))
    };
    Ok(RrdSource {
        name: text(node, "name")?.to_owned(),
        kind: text(node, "type")?.to_owned(),
        heartbeat: Span::from_secs(heartbeat),
        min: bound("min")?,
        max: bound("max")?,
    })
}

fn archive(
    node: Node<'_, '_>,
    step: i64,
    width: usize,
    last_update: Instant,
) -> Result<RrdArchive, RrdError> {
    let steps: i64 = number(node, "pdp_per_row", "1 or more", |&steps| steps > 0)?;
    let resolution = Span::from_secs(step.saturating_mul(steps));
    let mut values = Vec::new();
    let databases = named(node, "database");
    for row in databases.flat_map(|database| named(database, "row")) {
        let before = values.len();
        for cell in named(row, "v") {
            let value = cell.text().unwrap_or_default().trim().parse();
            values.push(value.map_err(|_| unexpected(cell, "a number"))?);
        }
        if values.len() != before + width {
            return Err(unexpected(row, "a value for each source"));
        }
    }
    Ok(RrdArchive {
        function: text(node, "cf")?.to_owned(),
        resolution,
        end: last_row_end(last_update, resolution),
        width,
        values,
    })
}

fn named<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children()
        .filter(move |child| child.has_tag_name(name))
}

fn text<'a>(node: Node<'a, '_>, name: &'static str) -> Result<&'a str, RrdError> {
    let found = named(node, name).next().and_then(|child| child.text());
    found.map(str::trim).ok_or_else(|| RrdError::Nonsense {
        place: place(node),
        expected: "an element that every database has, but it is missing or empty",
    })
}

fn number<T: std::str::FromStr>(
    node: Node<'_, '_>,
    name: &'static str,
    expected: &'static str,
    is_sound: impl Fn(&T) -> bool,
) -> Result<T, RrdError> {
    let value = text(node, name)?.parse().ok().filter(is_sound);
    value.ok_or_else(|| {
        let child = named(node, name).next().unwrap_or(node);
        unexpected(child, expected)
    })
}

fn unexpected(node: Node<'_, '_>, expected: &'static str) -> RrdError {
    RrdError::Nonsense {
        place: place(node),
        expected,
    }
}

fn place(node: Node<'_, '_>) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    format!("line {line}: `{}`", node.tag_name().name())
}
