//! The settings as data: what their documentation, their schema and their defaults say.

use serde_json::Value;

use super::ServiceConfig;

/// A section of the settings with its settings, in the order of the type.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingSection {
    /// The name: `limits`; empty for settings outside any section.
    pub name: String,
    /// What the section is about.
    pub text: String,
    /// The form of the section in the file.
    pub form: SectionForm,
    /// The settings.
    pub settings: Vec<Setting>,
}

/// The form of a section in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionForm {
    /// `[limits]`, whose settings hold also without it.
    Table,
    /// `[engine]`, without which there is nothing that its settings could be about.
    OptionalTable,
    /// `[[tokens]]`, any number of times.
    List,
}

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key in its section.
    pub key: String,
    /// What it sets, with unit and range.
    pub text: String,
    /// The kind of its value: `number, in seconds`, or the words that it may have.
    pub kind: String,
    /// The default as TOML; None if the setting is absent by default.
    pub default: Option<String>,
    /// A value as TOML that is allowed, of a setting without a default.
    pub example: Option<String>,
    /// Whether its section needs it.
    pub is_required: bool,
    /// Whether another setting has taken its place.
    pub is_deprecated: bool,
}

/// Units by the suffix of a key.
const UNITS: [(&str, &str); 4] = [
    ("_s", "seconds"),
    ("_bytes", "bytes"),
    ("_kib", "KiB"),
    ("_mib", "MiB"),
];

impl ServiceConfig {
    /// Returns all settings: those outside any section, then each section.
    pub fn catalogue() -> Vec<SettingSection> {
        let schema = schemars::generate::SchemaSettings::draft2020_12()
            .for_deserialize()
            .with(|settings| settings.inline_subschemas = true);
        let schema = schema.into_generator().into_root_schema_for::<Self>();
        let schema = schema.as_value();
        let mut outside = SettingSection {
            name: String::new(),
            text: String::new(),
            form: SectionForm::Table,
            settings: Vec::new(),
        };
        let mut sections = Vec::new();
        for (key, property) in properties(schema) {
            match section_form(property) {
                Some((form, fields)) => sections.push(SettingSection {
                    name: key.clone(),
                    text: text(property),
                    form,
                    settings: settings(fields),
                }),
                None => outside.settings.push(setting(key, property, schema)),
            }
        }
        sections.insert(0, outside);
        sections
    }
}

/// Returns the form of a section and the schema of its settings; None for a setting.
fn section_form(property: &Value) -> Option<(SectionForm, &Value)> {
    let is_section = |schema: &&Value| schema.get("properties").is_some();
    if let Some(items) = property.get("items").filter(is_section) {
        return Some((SectionForm::List, items));
    }
    let table = Some(property).filter(is_section)?;
    // The types of an optional table are `object` and `null`.
    let form = match table.get("type").is_some_and(Value::is_array) {
        true => SectionForm::OptionalTable,
        false => SectionForm::Table,
    };
    Some((form, table))
}

fn settings(section: &Value) -> Vec<Setting> {
    properties(section)
        .map(|(key, property)| setting(key, property, section))
        .collect()
}

fn setting(key: &str, property: &Value, section: &Value) -> Setting {
    let required = section.get("required").and_then(Value::as_array);
    let unit = UNITS.iter().find(|(suffix, _)| key.ends_with(suffix));
    let unit = unit.map_or_else(String::new, |(_, unit)| format!(", in {unit}"));
    let example = property.get("examples").and_then(|all| all.get(0));
    Setting {
        key: key.to_owned(),
        text: text(property),
        kind: kind(property) + &unit,
        default: property.get("default").and_then(literal),
        example: example.and_then(literal),
        is_required: required.is_some_and(|keys| keys.iter().any(|required| required == key)),
        is_deprecated: property.get("deprecated").is_some(),
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

/// Returns the documentation in one line.
fn text(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// Returns the schemas of which a value matches one.
fn alternatives(schema: &Value) -> &[Value] {
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    choices.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Describes the values of a setting.
fn kind(schema: &Value) -> String {
    let words = schema.get("enum").and_then(Value::as_array);
    let words = words.into_iter().flatten().chain(schema.get("const"));
    let words: Vec<String> = words
        .filter_map(Value::as_str)
        .map(|word| format!("`{word}`"))
        .collect();
    if !words.is_empty() {
        return one_of(&words);
    }
    let choices: Vec<String> = alternatives(schema)
        .iter()
        .map(kind)
        .filter(|kind| !kind.is_empty())
        .collect();
    if !choices.is_empty() {
        return one_of(&choices);
    }
    let types = schema.get("type");
    let one = types.and_then(|types| types.as_str().or_else(|| types.get(0)?.as_str()));
    match one.unwrap_or_default() {
        "integer" => "whole number".to_owned(),
        "number" => "number".to_owned(),
        "string" => "text".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => format!(
            "list of {}",
            schema.get("items").map(kind).unwrap_or_default()
        ),
        "object" if schema.get("properties").is_some() => {
            let keys = properties(schema).map(|(key, value)| match value.get("const") {
                Some(word) => format!("`{key} = {word}`"),
                None => format!("`{key}`"),
            });
            format!("table with {}", keys.collect::<Vec<_>>().join(", "))
        }
        "object" => {
            let values = schema.get("additionalProperties").map(kind);
            format!("{} by name", values.unwrap_or_default())
        }
        // `null` is no value of a setting.
        _ => String::new(),
    }
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
fn one_of(choices: &[String]) -> String {
    match choices {
        [others @ .., before, last] => {
            let others: String = others.iter().map(|other| format!("{other}, ")).collect();
            format!("{others}{before} or {last}")
        }
        few => few.concat(),
    }
}

/// Returns a value as TOML; None for what TOML has no value for.
fn literal(value: &Value) -> Option<String> {
    toml::Value::try_from(value)
        .ok()
        .map(|value| value.to_string())
}
