//! Every setting there is.

/// Every setting there is, with its default and what it means, as a configuration file.
pub const TEMPLATE: &str = include_str!("template.toml");

/// The template with everything set that is commented out: an example of each setting.
pub(super) fn examples() -> String {
    let line = |line: &'static str| match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with('[') || rest.contains(" = ") => rest,
        _ => line,
    };
    // Sentences with an equals sign in them are not settings.
    let is_setting = |line: &&str| {
        !line.contains("engine = \"redis\"") && !line.contains("ledger = \"postgres\"")
    };
    let lines: Vec<&str> = TEMPLATE.lines().map(line).filter(is_setting).collect();
    lines.join("\n")
}
