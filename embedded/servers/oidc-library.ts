// The library warns about each Node version that is not an LTS release yet; ours is pinned and tested.
const { warn } = console
console.warn = () => {}
const library = await import('oidc-provider')
console.warn = warn

/** The OpenID Connect provider. */
export const OidcProvider = library.default

/** The errors of OAuth 2.0 and OpenID Connect. */
export const oauthErrors = library.errors
