//! The page of settings.

use tollgate_server::ServiceConfig;
use tollgate_server::config::{SectionForm, Setting, SettingSection};

use super::table::{code, table};

/// The text below the heading.
const HEAD: &str = "\
A service reads its settings from `config.toml` in its data directory, or from the file that `serve --config` names. \
Every setting can be left out, but for those that their section requires. `tollgate generate config` prints a sample of the file.";

/// Returns the page in Markdown.
pub(super) fn page() -> String {
    let mut page = format!("# Settings of the service\n\n{HEAD}\n");
    for section in ServiceConfig::catalogue() {
        page.push_str(&section_text(&section));
    }
    page
}

fn section_text(section: &SettingSection) -> String {
    let name = &section.name;
    let heading = match section.form {
        _ if name.is_empty() => "Outside any section".to_owned(),
        SectionForm::Table | SectionForm::OptionalTable => format!("`[{name}]`"),
        SectionForm::List => format!("`[[{name}]]`"),
    };
    let text = match section.text.as_str() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    };
    let table = table(
        ["setting", "value", "default", "meaning"],
        section.settings.iter().map(row),
    );
    format!("\n## {heading}\n{text}\n{table}")
}

fn row(setting: &Setting) -> [String; 4] {
    let default = match &setting.default {
        Some(default) => code(default),
        None if setting.is_required => "required".to_owned(),
        None => String::new(),
    };
    let example = setting.example.as_ref();
    let example = example.map_or_else(String::new, |example| {
        format!(" For example: {}", code(example))
    });
    [
        code(&setting.key),
        setting.kind.clone(),
        default,
        format!("{}{example}", setting.text),
    ]
}
