package v1alpha1

// SCMProviderGenerator yields the repositories of an organisation; exactly one provider is set.
type SCMProviderGenerator struct {
	Github          *SCMProviderGeneratorGithub          `json:"github,omitempty"`
	Gitlab          *SCMProviderGeneratorGitlab          `json:"gitlab,omitempty"`
	Bitbucket       *SCMProviderGeneratorBitbucket       `json:"bitbucket,omitempty"`
	BitbucketServer *SCMProviderGeneratorBitbucketServer `json:"bitbucketServer,omitempty"`
	Gitea           *SCMProviderGeneratorGitea           `json:"gitea,omitempty"`
	AzureDevOps     *SCMProviderGeneratorAzureDevOps     `json:"azureDevOps,omitempty"`
	// Filters keep a repository that any of them matches; inside one, everything must match.
	Filters []SCMProviderGeneratorFilter `json:"filters,omitempty"`
	// CloneProtocol is ssh or https, as far as the provider has both.
	CloneProtocol       string `json:"cloneProtocol,omitempty"`
	RequeueAfterSeconds *int64 `json:"requeueAfterSeconds,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template      ApplicationSetTemplate             `json:"template,omitzero"`
	Values        map[string]string                  `json:"values,omitempty"`
	AWSCodeCommit *SCMProviderGeneratorAWSCodeCommit `json:"awsCodeCommit,omitempty"`
}

// SCMProviderGeneratorFilter matches repositories; everything that is set must match.
type SCMProviderGeneratorFilter struct {
	// RepositoryMatch is a regular expression over the name.
	RepositoryMatch *string  `json:"repositoryMatch,omitempty"`
	PathsExist      []string `json:"pathsExist,omitempty"`
	PathsDoNotExist []string `json:"pathsDoNotExist,omitempty"`
	// LabelMatch is a regular expression over labels.
	LabelMatch *string `json:"labelMatch,omitempty"`
	// BranchMatch is a regular expression over branches.
	BranchMatch *string `json:"branchMatch,omitempty"`
}

// SCMProviderGeneratorGithub is an organisation on GitHub.
type SCMProviderGeneratorGithub struct {
	Organization string     `json:"organization"`
	API          string     `json:"api,omitempty"`
	TokenRef     *SecretRef `json:"tokenRef,omitempty"`
	// AppSecretName is the repository secret that has a GitHub App in it.
	AppSecretName        string `json:"appSecretName,omitempty"`
	AllBranches          bool   `json:"allBranches,omitempty"`
	ExcludeArchivedRepos bool   `json:"excludeArchivedRepos,omitempty"`
}

// SCMProviderGeneratorGitlab is a group on GitLab.
type SCMProviderGeneratorGitlab struct {
	Group                 string           `json:"group"`
	IncludeSubgroups      bool             `json:"includeSubgroups,omitempty"`
	API                   string           `json:"api,omitempty"`
	TokenRef              *SecretRef       `json:"tokenRef,omitempty"`
	AllBranches           bool             `json:"allBranches,omitempty"`
	Insecure              bool             `json:"insecure,omitempty"`
	IncludeSharedProjects *bool            `json:"includeSharedProjects,omitempty"`
	Topic                 string           `json:"topic,omitempty"`
	CARef                 *ConfigMapKeyRef `json:"caRef,omitempty"`
	IncludeArchivedRepos  *bool            `json:"includeArchivedRepos,omitempty"`
}

// SCMProviderGeneratorGitea is an owner on Gitea.
type SCMProviderGeneratorGitea struct {
	Owner                string     `json:"owner"`
	API                  string     `json:"api"`
	TokenRef             *SecretRef `json:"tokenRef,omitempty"`
	AllBranches          bool       `json:"allBranches,omitempty"`
	Insecure             bool       `json:"insecure,omitempty"`
	ExcludeArchivedRepos bool       `json:"excludeArchivedRepos,omitempty"`
}

// SCMProviderGeneratorBitbucket is an owner on Bitbucket Cloud.
type SCMProviderGeneratorBitbucket struct {
	Owner          string     `json:"owner"`
	User           string     `json:"user"`
	AppPasswordRef *SecretRef `json:"appPasswordRef,omitempty"`
	AllBranches    bool       `json:"allBranches,omitempty"`
}

// SCMProviderGeneratorBitbucketServer is a project on Bitbucket Server.
type SCMProviderGeneratorBitbucketServer struct {
	Project     string                    `json:"project"`
	API         string                    `json:"api"`
	BasicAuth   *BasicAuthBitbucketServer `json:"basicAuth,omitempty"`
	BearerToken *BearerTokenBitbucket     `json:"bearerToken,omitempty"`
	AllBranches bool                      `json:"allBranches,omitempty"`
	Insecure    bool                      `json:"insecure,omitempty"`
	CARef       *ConfigMapKeyRef          `json:"caRef,omitempty"`
}

// SCMProviderGeneratorAzureDevOps is a team project on Azure DevOps.
type SCMProviderGeneratorAzureDevOps struct {
	Organization   string     `json:"organization"`
	API            string     `json:"api,omitempty"`
	TeamProject    string     `json:"teamProject"`
	AccessTokenRef *SecretRef `json:"accessTokenRef,omitempty"`
	AllBranches    bool       `json:"allBranches,omitempty"`
}

// SCMProviderGeneratorAWSCodeCommit is an account on AWS CodeCommit.
type SCMProviderGeneratorAWSCodeCommit struct {
	TagFilters  []TagFilter `json:"tagFilters,omitempty"`
	Role        string      `json:"role,omitempty"`
	Region      string      `json:"region,omitempty"`
	AllBranches bool        `json:"allBranches,omitempty"`
}

// TagFilter matches a tag by key, and by value if it is given.
type TagFilter struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}
