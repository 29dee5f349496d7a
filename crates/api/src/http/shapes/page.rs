//! Lists, a page at a time: which rows are looked for, and a page of them.

use crate::http::problem::{Code, Problem};

/// How many rows a page has: 1 to 1000, and 100 if nothing is said.
///
/// # Errors
/// `INVALID_QUERY`.
pub fn page_size(limit: Option<usize>) -> Result<usize, Problem> {
    page_size_or(Code::InvalidQuery, limit)
}

/// The same, where another number is `wrong`.
///
/// # Errors
/// `wrong`.
pub fn page_size_or(wrong: Code, limit: Option<usize>) -> Result<usize, Problem> {
    match limit.unwrap_or(100) {
        limit @ 1..=1_000 => Ok(limit),
        _ => Err(Problem::new(wrong, "limit: use 1 to 1000").about("limit")),
    }
}

/// The query string of a list of the ledger's: what is looked for, and which page of it. With a
/// second name also that of the same list as one file.
macro_rules! search {
    ($paged:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        /// Which rows, and which page of them.
        #[derive(serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub struct $paged {
            $($(#[$about])* $field: $type,)*
            /// The `next` of the page before.
            #[param(nullable = false)]
            after: Option<String>,
            /// How many at most; 100 if left out.
            #[param(minimum = 1, maximum = 1000, nullable = false)]
            limit: Option<usize>,
        }
    };
    ($paged:ident, $whole:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $crate::http::shapes::page::search!($paged { $($(#[$about])* $field: $type,)* });

        /// Which rows.
        #[derive(serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub struct $whole {
            $($(#[$about])* pub $field: $type,)*
        }
    };
}

/// A page of a list of the ledger's, as it is answered.
macro_rules! page {
    ($(#[$doc:meta])* $page:ident, $(#[$about:meta])* $rows:ident: $body:ty) => {
        $(#[$doc])*
        #[derive(serde::Serialize, utoipa::ToSchema)]
        pub struct $page {
            $(#[$about])*
            $rows: Vec<$body>,
            /// What to ask for next as `after`; missing on the last page.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false)]
            next: Option<String>,
        }

        impl<R: Into<$body>> From<onrush_ledger::Page<R>> for $page {
            fn from(page: onrush_ledger::Page<R>) -> Self {
                Self { $rows: page.rows.into_iter().map(Into::into).collect(), next: page.next }
            }
        }
    };
}

pub(in crate::http) use {page, search};
