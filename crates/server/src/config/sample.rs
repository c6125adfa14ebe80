//! A sample of the configuration file: every setting with its documentation.

use std::fmt::Write;

use super::ServiceConfig;
use super::catalogue::{SectionForm, Setting, SettingSection};

/// The maximum width of a line of comment.
const WIDTH: usize = 100;

/// The first lines.
const HEAD: &str = "\
# Settings of a tollgate service: `config.toml` in its data directory.
#
# A line `#key = value` shows the default of a setting. Remove its `#` and change the value.
# A line after `# For example:` shows a value of a setting that is absent by default.
# A section `#[name]` is absent by default, too: remove the `#` before its name first.
";

impl ServiceConfig {
    /// Returns a configuration file in which every setting stands as a comment. As it is, it means the
    /// defaults.
    pub fn sample() -> String {
        let mut text = HEAD.to_owned();
        for section in Self::catalogue() {
            write_section(&mut text, &section);
        }
        text
    }
}

fn write_section(text: &mut String, section: &SettingSection) {
    if !section.name.is_empty() {
        text.push('\n');
        comment(text, &section.text);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", header(section));
    }
    let settings = section.settings.iter();
    for setting in settings.filter(|setting| !setting.is_deprecated) {
        write_setting(text, setting);
    }
}

fn header(section: &SettingSection) -> String {
    let name = &section.name;
    match section.form {
        SectionForm::Table => format!("[{name}]"),
        SectionForm::OptionalTable => format!("#[{name}]"),
        SectionForm::List => format!("#[[{name}]]"),
    }
}

fn write_setting(text: &mut String, setting: &Setting) {
    text.push('\n');
    comment(text, &setting.text);
    let value = match (&setting.default, &setting.example) {
        (Some(default), _) => default,
        (None, example) => {
            comment(text, "For example:");
            example.as_deref().unwrap_or_default()
        }
    };
    let _ = writeln!(text, "#{} = {value}", setting.key);
}

/// Writes a comment in lines of at most [`WIDTH`] columns.
fn comment(text: &mut String, words: &str) {
    let mut line = "#".to_owned();
    for word in words.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
