package server

import (
	"github.com/towline-cd/towline/internal/core/policy"
	"github.com/towline-cd/towline/internal/core/sso"
)

// Settings are what the config maps say of the server. They may be others with every request.
type Settings struct {
	URL            string
	AdditionalURLs []string
	// RootPath is what a proxy in front leaves on the path, and BaseHref where pages live.
	RootPath, BaseHref string
	FrameOptions       string
	// ContentTypes are those of bodies; nil is JSON alone, and an empty list is any.
	ContentTypes []string
	// MaxWebhook is how many bytes a webhook may have; zero is the default.
	MaxWebhook int64
	// HiddenAnnotations are the keys of annotations whose values are not told.
	HiddenAnnotations []string

	// NoReplace says that nobody may ask for a sync that replaces objects. RollbackRight and RevisionRight are that going
	// back, and syncing to another revision, are rights of their own.
	NoReplace, RollbackRight, RevisionRight bool
	// AppNamespaces are the patterns of the namespaces, besides the control namespace, that applications may be in.
	AppNamespaces []string

	StatusBadge    bool
	StatusBadgeURL string
	ExecEnabled    bool
	AppsAnywhere   bool
	AdminDisabled  bool
	InstallationID string
	LabelKey       string
	TrackingMethod string
	KustomizeBuild string
	Password       string
	Help           Help
	Analytics      Analytics
	UI             UI
	SSO            SSO
	Plugins        []string

	ApplicationLinks, ResourceLinks, ProjectLinks []LinkTemplate
	Tenancy                                       policy.Tenancy
}

// Help is where people find help.
type Help struct {
	ChatURL    string            `json:"chatUrl,omitempty"`
	ChatText   string            `json:"chatText,omitempty"`
	BinaryURLs map[string]string `json:"binaryUrls,omitempty"`
}

// Analytics is who is told of visits.
type Analytics struct {
	TrackingID     string `json:"trackingID,omitempty"`
	AnonymizeUsers bool   `json:"anonymizeUsers,omitempty"`
}

// UI is how pages look.
type UI struct {
	CSSURL          string
	BannerContent   string
	BannerURL       string
	BannerPermanent bool
	BannerPosition  string
	LoginButtonText string
}

// SSO is how people sign in elsewhere; nothing of it is a secret.
type SSO struct {
	Name, Issuer, ClientID, CLIClientID string
	Scopes                              []string
	Claims                              map[string]sso.Claim
	PKCE                                bool
	// Connectors are those of the Dex that runs beside, where that is the provider.
	Connectors []sso.Connector
}

// SettingsAnswer is what is told of the settings.
type SettingsAnswer struct {
	URL                string      `json:"url,omitempty"`
	AdditionalURLs     []string    `json:"additionalURLs,omitempty"`
	StatusBadgeEnabled bool        `json:"statusBadgeEnabled"`
	StatusBadgeRootURL string      `json:"statusBadgeRootUrl,omitempty"`
	GoogleAnalytics    Analytics   `json:"googleAnalytics"`
	Help               Help        `json:"help"`
	OIDCConfig         *OIDCAnswer `json:"oidcConfig,omitempty"`
	DexConfig          *DexAnswer  `json:"dexConfig,omitempty"`
	UserLoginsDisabled bool        `json:"userLoginsDisabled"`
	UICSSURL           string      `json:"uiCssURL,omitempty"`
	UIBannerContent    string      `json:"uiBannerContent,omitempty"`
	UIBannerURL        string      `json:"uiBannerURL,omitempty"`
	UIBannerPermanent  bool        `json:"uiBannerPermanent,omitempty"`
	UIBannerPosition   string      `json:"uiBannerPosition,omitempty"`

	// The rest is for those who have signed in.
	AppLabelKey               string              `json:"appLabelKey,omitempty"`
	TrackingMethod            string              `json:"trackingMethod,omitempty"`
	InstallationID            string              `json:"installationID,omitempty"`
	KustomizeOptions          *KustomizeAnswer    `json:"kustomizeOptions,omitempty"`
	ResourceOverrides         map[string]struct{} `json:"resourceOverrides,omitempty"`
	PasswordPattern           string              `json:"passwordPattern,omitempty"`
	ExecEnabled               bool                `json:"execEnabled,omitempty"`
	ControllerNamespace       string              `json:"controllerNamespace,omitempty"`
	AppsInAnyNamespaceEnabled bool                `json:"appsInAnyNamespaceEnabled,omitempty"`
	ImpersonationEnabled      bool                `json:"impersonationEnabled,omitempty"`
}

// OIDCAnswer is how people sign in elsewhere.
type OIDCAnswer struct {
	Name        string   `json:"name,omitempty"`
	Issuer      string   `json:"issuer,omitempty"`
	ClientID    string   `json:"clientID,omitempty"`
	CLIClientID string   `json:"cliClientID,omitempty"`
	Scopes      []string `json:"scopes,omitempty"`
	PKCE        bool     `json:"enablePKCEAuthentication,omitempty"`

	Claims map[string]sso.Claim `json:"idTokenClaims,omitempty"`
}

// DexAnswer is which ways Dex has to know people.
type DexAnswer struct {
	Connectors []sso.Connector `json:"connectors"`
}

// KustomizeAnswer is how kustomize is run.
type KustomizeAnswer struct {
	BuildOptions string `json:"buildOptions,omitempty"`
}

// settings tells strangers what a page for signing in needs, and others more.
func (s *Server) settings(req *Request) (any, error) {
	in := s.Settings()
	out := SettingsAnswer{
		URL: webLink(in.URL), StatusBadgeEnabled: in.StatusBadge, StatusBadgeRootURL: webLink(in.StatusBadgeURL),
		GoogleAnalytics: in.Analytics, Help: in.Help, UserLoginsDisabled: in.AdminDisabled, UICSSURL: in.UI.CSSURL,
		UIBannerContent: in.UI.BannerContent, UIBannerURL: webLink(in.UI.BannerURL), UIBannerPermanent: in.UI.BannerPermanent,
		UIBannerPosition: in.UI.BannerPosition,
	}
	out.Help.ChatURL = webLink(in.Help.ChatURL)
	switch o := in.SSO; {
	case o.Issuer == "":
	case o.Connectors != nil:
		out.DexConfig = &DexAnswer{Connectors: o.Connectors}
	default:
		out.OIDCConfig = &OIDCAnswer{
			Name: o.Name, Issuer: o.Issuer, ClientID: o.ClientID, CLIClientID: o.CLIClientID, Scopes: o.Scopes, PKCE: o.PKCE,
			Claims: o.Claims,
		}
	}
	if !req.SignedIn {
		return out, nil
	}
	out.AdditionalURLs = in.AdditionalURLs
	out.AppLabelKey, out.TrackingMethod, out.InstallationID = in.LabelKey, in.TrackingMethod, in.InstallationID
	out.KustomizeOptions = &KustomizeAnswer{BuildOptions: in.KustomizeBuild}
	out.PasswordPattern, out.ExecEnabled, out.ControllerNamespace = in.Password, in.ExecEnabled, s.Namespace
	out.AppsInAnyNamespaceEnabled, out.ImpersonationEnabled = in.AppsAnywhere, in.Tenancy.Impersonate
	return out, nil
}

// PluginList are the config management plugins.
type PluginList struct {
	Plugins []PluginName `json:"plugins"`
}

// PluginName is one of them.
type PluginName struct {
	Name string `json:"name"`
}

func (s *Server) plugins(*Request) (any, error) {
	out := PluginList{Plugins: []PluginName{}}
	for _, name := range s.Settings().Plugins {
		out.Plugins = append(out.Plugins, PluginName{Name: name})
	}
	return out, nil
}
