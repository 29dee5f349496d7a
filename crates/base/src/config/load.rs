//! How settings are loaded: from a file, then from `ONRUSH_…` variables, each overriding the one before.

use super::error::ConfigError;
use super::{Config, parse, variables};
use std::collections::BTreeMap;
use std::path::Path;

impl Config {
    /// Reads the file, if there is one, and then this process' variables.
    ///
    /// # Errors
    /// See [`Self::load`].
    pub fn load_here(file: Option<&Path>) -> Result<Self, ConfigError> {
        let config = Self::read_here(file)?;
        config.check()?;
        Ok(config)
    }

    /// The same, and nothing is checked that the types do not.
    ///
    /// # Errors
    /// As [`Self::load`], but for what [`Self::check`] finds.
    pub fn read_here(file: Option<&Path>) -> Result<Self, ConfigError> {
        let mut variables = Vec::new();
        for (name, value) in std::env::vars_os() {
            // What is not named in text cannot be one of ours.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => variables.push((name, value)),
                Err(_) if name.starts_with("ONRUSH_") => {
                    return Err(ConfigError::new(format!("{name}: it is no text (UTF-8)")));
                }
                Err(_) => {}
            }
        }
        Self::read(file, variables)
    }

    /// Reads the file, if there is one, and then the variables; what neither sets has its default.
    ///
    /// # Errors
    /// The file cannot be read, has an unknown key, or a value is of the wrong kind; whatever
    /// [`Self::check`] finds.
    pub fn load(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let config = Self::read(file, variables)?;
        config.check()?;
        Ok(config)
    }

    fn read(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let named =
            |path: &Path, why: String| ConfigError::new(format!("{}: {why}", path.display()));
        let text = match file {
            None => String::new(),
            Some(path) => {
                std::fs::read_to_string(path).map_err(|error| named(path, error.to_string()))?
            }
        };
        let complaint = |why: String| match file {
            Some(path) => named(path, why),
            None => ConfigError::new(why),
        };
        let mut table: toml::Table =
            toml::from_str(&text).map_err(|error| complaint(parse::complaint(&text, &error)))?;
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        let set = variables::apply(&variables, &mut table)?;
        serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
            let path = parse::path_of(error.path());
            let why = parse::without_values(error.inner().message());
            match (set.name_of(&path), Self::parse(&text)) {
                (Some(variable), _) => ConfigError::new(format!("{variable}: {why}")),
                // What is wrong in the file is told with its line.
                (None, Err(why)) if !why.contains("missing field") => complaint(why),
                (None, _) => complaint(parse::missing(&path, &why)),
            }
        })
    }

    /// Reads the text of a file; what it does not set has its default, and nothing is checked that
    /// the types do not.
    ///
    /// # Errors
    /// Where it is wrong and what is expected there, as a sentence without what stands there.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| parse::complaint(text, &error))
    }
}
