//! How the fake reads a request: strictly. Whatever the documents do not name is an error.

use axum::http::{HeaderMap, Method};
use onrush_saga::gateway::stripe::API_VERSION;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(crate) const SECRET_KEY: &str = "sk_test_51_of_nobody";

/// A status and a body.
pub(crate) type Reply = (u16, Value);

pub(crate) fn failure(status: u16, kind: &str, code: &str, message: &str) -> Reply {
    (status, json!({"error": {"type": kind, "code": code, "message": message}}))
}

pub(crate) fn invalid(code: &str, message: &str) -> Reply {
    failure(400, "invalid_request_error", code, message)
}

/// A request's parameters, each of which must be asked for.
pub(crate) struct Form {
    fields: BTreeMap<String, String>,
}

impl Form {
    pub(crate) fn read(text: &str) -> Result<Self, Reply> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let (name, value) = (name.into_owned(), value.into_owned());
            if value.is_empty() {
                return Err(invalid("parameter_invalid_empty", &name));
            }
            if fields.insert(name.clone(), value).is_some() {
                return Err(invalid("parameter_invalid", &format!("twice: {name}")));
            }
        }
        Ok(Self { fields })
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.fields.remove(name)
    }

    pub(crate) fn need(&mut self, name: &str) -> Result<String, Reply> {
        self.take(name).ok_or_else(|| invalid("parameter_missing", name))
    }

    pub(crate) fn amount(&mut self) -> Result<i64, Reply> {
        let text = self.need("amount")?;
        let amount: i64 =
            text.parse().map_err(|_| invalid("parameter_invalid_integer", "amount"))?;
        if amount < 1 {
            return Err(invalid("parameter_invalid_integer", "amount"));
        }
        Ok(amount)
    }

    /// Some of what stands under `name[0]`, `name[1]` …, in that order and without a gap.
    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(value) = self.take(&format!("{name}[{}]", all.len())) {
            all.push(value);
        }
        all
    }

    /// Whether an answer is to have this whole and not only its id.
    pub(crate) fn expands(&mut self, what: &str) -> Result<bool, Reply> {
        match self.take("expand[]") {
            None => Ok(false),
            Some(wanted) if wanted == what => Ok(true),
            Some(wanted) => Err(invalid("parameter_invalid", &wanted)),
        }
    }

    /// At most 50 entries with names of 40 and values of 500 characters.
    pub(crate) fn metadata(&mut self) -> Result<Value, Reply> {
        let mut metadata = Map::new();
        let name_of = |field: &str| {
            field
                .strip_prefix("metadata[")
                .and_then(|rest| rest.strip_suffix(']'))
                .map(str::to_owned)
        };
        for (field, value) in std::mem::take(&mut self.fields) {
            match name_of(&field) {
                Some(name) if name.len() > 40 || value.chars().count() > 500 => {
                    return Err(invalid("parameter_invalid", &field));
                }
                Some(name) => drop(metadata.insert(name, Value::String(value))),
                None => drop(self.fields.insert(field, value)),
            }
        }
        if metadata.len() > 50 {
            return Err(invalid("parameter_invalid", "metadata"));
        }
        Ok(Value::Object(metadata))
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), Reply> {
        match self.fields.into_keys().next() {
            Some(name) => Err(invalid("parameter_unknown", &format!("unknown parameter: {name}"))),
            None => Ok(()),
        }
    }
}

/// What a payment may be, as "Minimum and maximum charge amounts" has it: by currency, in the API's
/// own units.
pub(crate) fn check_charge(amount: i64, currency: &str) -> Result<(), Reply> {
    let least = match currency {
        "eur" | "usd" | "chf" | "cad" => 50,
        "gbp" => 30,
        "jpy" => 50,
        "mxn" | "thb" => 1_000,
        _ => 1,
    };
    let digits = match currency {
        "idr" => 12,
        "jpy" => 10,
        _ => 8,
    };
    if ["iqd", "clf", "xau", "zzz"].contains(&currency) {
        return Err(invalid("parameter_invalid", "Invalid currency"));
    }
    if amount < least {
        return Err(invalid("amount_too_small", "Amount must convert to at least 50 cents."));
    }
    if amount.to_string().len() > digits {
        return Err(invalid("amount_too_large", "Amount must be no more than 999,999.99"));
    }
    Ok(())
}

/// The payment methods that can be excluded in this version of the API.
pub(crate) fn is_method(name: &str) -> bool {
    const METHODS: &str = "acss_debit affirm afterpay_clearpay alipay alma amazon_pay \
        au_becs_debit bacs_debit bancontact billie blik boleto card cashapp crypto \
        customer_balance eps fpx giropay grabpay ideal kakao_pay klarna konbini kr_card mb_way \
        mobilepay multibanco naver_pay nz_bank_account oxxo p24 pay_by_bank payco paynow paypal \
        pix promptpay revolut_pay samsung_pay satispay sepa_debit sofort swish twint \
        us_bank_account wechat_pay zip";
    METHODS.split_whitespace().any(|known| known == name)
}

/// Whether the headers are as the documents want them.
pub(crate) fn check_headers(
    method: &Method,
    headers: &HeaderMap,
    revoked: bool,
) -> Result<(), Reply> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if revoked || header("authorization") != Some(&format!("Bearer {SECRET_KEY}")) {
        return Err(failure(401, "invalid_request_error", "api_key_invalid", "no such key"));
    }
    if header("stripe-version") != Some(API_VERSION) {
        return Err(invalid("version_invalid", "Stripe-Version"));
    }
    if method == Method::POST {
        if header("content-type") != Some("application/x-www-form-urlencoded") {
            return Err(invalid("content_type_invalid", "send a form"));
        }
        if !header("idempotency-key").is_some_and(|key| (1..=255).contains(&key.len())) {
            return Err(invalid("idempotency_key_invalid", "send an Idempotency-Key"));
        }
    }
    Ok(())
}
