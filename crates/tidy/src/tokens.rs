//! Rust source as a flat list of tokens, without comments and without what only tests compile.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::str::FromStr;

/// One token; a group is an opening, what is in it, and a closing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or a keyword; `r#use` keeps its sign.
    Word(String),
    /// The value of a string literal, its escapes as they are written.
    Text(String),
    /// `::`
    Colons,
    Open(char),
    Close(char),
    /// Any other sign.
    Sign(char),
    /// A number, a character, a byte string.
    Value,
}

/// The tokens of a file, or why they cannot be read.
pub(crate) fn of_source(text: &str) -> Result<Vec<Token>, String> {
    let stream = TokenStream::from_str(text).map_err(|error| error.to_string())?;
    let mut flat = Vec::new();
    flatten(stream, &mut flat);
    Ok(without_tests(&flat))
}

fn flatten(stream: TokenStream, flat: &mut Vec<Token>) {
    let mut colon = false;
    for tree in stream {
        let after_colon = std::mem::take(&mut colon);
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                flat.push(Token::Open(open));
                flatten(group.stream(), flat);
                flat.push(Token::Close(close));
            }
            TokenTree::Ident(word) => flat.push(Token::Word(word.to_string())),
            TokenTree::Punct(sign) if sign.as_char() == ':' && after_colon => {
                flat.pop();
                flat.push(Token::Colons);
            }
            TokenTree::Punct(sign) => {
                colon = sign.as_char() == ':' && sign.spacing() == Spacing::Joint;
                flat.push(Token::Sign(sign.as_char()));
            }
            TokenTree::Literal(literal) => {
                let written = literal.to_string();
                flat.push(string(&written).map_or(Token::Value, Token::Text));
            }
        }
    }
}

/// What stands between the quotes of `"…"` or `r#"…"#`.
fn string(written: &str) -> Option<String> {
    let inner = written.strip_prefix('r').map_or(written, |raw| raw.trim_matches('#'));
    Some(inner.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

/// Leaves out each item, field or statement under `#[cfg(test)]`, and all of a file that has it
/// inside.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(attribute) = attribute_at(tokens, at) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        if !attribute.only_tests {
            kept.extend_from_slice(&tokens[at..attribute.end]);
            at = attribute.end;
        } else if attribute.inner {
            return Vec::new();
        } else {
            at = end_of_item(tokens, attribute.end);
        }
    }
    kept
}

struct Attribute {
    /// The first token after it.
    end: usize,
    inner: bool,
    only_tests: bool,
}

fn attribute_at(tokens: &[Token], at: usize) -> Option<Attribute> {
    if tokens.get(at) != Some(&Token::Sign('#')) {
        return None;
    }
    let inner = tokens.get(at + 1) == Some(&Token::Sign('!'));
    let open = at + 1 + usize::from(inner);
    if tokens.get(open) != Some(&Token::Open('[')) {
        return None;
    }
    let end = after_group(tokens, open);
    let words: Vec<&str> = tokens[open..end].iter().filter_map(word).collect();
    let only_tests = matches!(words[..], ["cfg", "test"] | ["cfg", "all", "test", ..]);
    Some(Attribute { end, inner, only_tests })
}

/// The first token after the group that opens at `open`.
fn after_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The first token after what begins at `at`: an item to its brace or semicolon, a field or an arm
/// to its comma.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    while let Some(attribute) = attribute_at(tokens, at) {
        at = attribute.end;
    }
    let mut head = at;
    if tokens.get(head).and_then(word) == Some("pub") {
        head += 1;
        if tokens.get(head) == Some(&Token::Open('(')) {
            head = after_group(tokens, head);
        }
    }
    let first = tokens.get(head).and_then(word);
    let import = first == Some("use");
    let item = matches!(
        first,
        Some(
            "fn" | "mod"
                | "impl"
                | "struct"
                | "enum"
                | "const"
                | "static"
                | "type"
                | "trait"
                | "async"
                | "unsafe"
                | "macro_rules"
                | "extern"
        )
    );
    while at < tokens.len() {
        match &tokens[at] {
            Token::Sign(';') => return at + 1,
            Token::Sign(',') if !item && !import => return at + 1,
            // The group around ends first: this was its last field.
            Token::Close(_) => return at,
            Token::Open('{') if !import => return after_group(tokens, at),
            Token::Open(_) => at = after_group(tokens, at),
            _ => at += 1,
        }
    }
    at
}

pub(crate) fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

pub(crate) fn text(token: &Token) -> Option<&str> {
    match token {
        Token::Text(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{of_source, word};

    fn words(text: &str) -> Vec<String> {
        let tokens = of_source(text).expect("it is Rust");
        tokens.iter().filter_map(word).map(str::to_owned).collect()
    }

    #[test]
    fn comments_and_texts_are_no_words() {
        assert_eq!(words("fn a() { b(\"crate::c\") } // crate::d"), ["fn", "a", "b"]);
    }

    #[test]
    fn what_only_tests_compile_is_left_out() {
        for (text, left) in [
            ("fn a() {} #[cfg(test)] mod tests { use b; } fn c() {}", "fn a fn c"),
            ("#[cfg(test)] use a::{b, c}; fn d() {}", "fn d"),
            ("#[cfg(test)] #[derive(A)] struct B<C, D>(C, D); fn e() {}", "fn e"),
            ("struct A { #[cfg(test)] pub(crate) b: C, d: E }", "struct A d E"),
            ("struct A { d: E, #[cfg(test)] b: C } struct F;", "struct A d E struct F"),
            ("#[cfg(all(test, feature = \"x\"))] fn a<B, C>() {} fn d() {}", "fn d"),
            ("#[cfg(any(test, feature = \"x\"))] fn a() {}", "cfg any test feature fn a"),
            ("#![cfg(test)] fn a() {}", ""),
        ] {
            assert_eq!(words(text).join(" "), left, "{text}");
        }
    }
}
