// Package azidentity stands in for the module of this name, which signs in to Azure; see sigv4 beside it.
package azidentity

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var errNotBuilt = errors.New("azidentity: not built in")

// Credential has no token.
type Credential struct{}

// GetToken refuses.
func (*Credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errNotBuilt
}

// ClientID names an identity.
type ClientID string

// ManagedIdentityCredentialOptions is never read, nor are the others.
type ManagedIdentityCredentialOptions struct {
	azcore.ClientOptions
	ID ClientID
}

// WorkloadIdentityCredentialOptions is never read.
type WorkloadIdentityCredentialOptions struct {
	azcore.ClientOptions
	ClientID, TenantID, TokenFilePath string
}

// ClientSecretCredentialOptions is never read.
type ClientSecretCredentialOptions struct{ azcore.ClientOptions }

// DefaultAzureCredentialOptions is never read.
type DefaultAzureCredentialOptions struct {
	azcore.ClientOptions
	TenantID string
}

// ClientCertificateCredentialOptions is never read.
type ClientCertificateCredentialOptions struct {
	azcore.ClientOptions
	SendCertificateChain bool
}

// NewManagedIdentityCredential refuses, and so do the others.
func NewManagedIdentityCredential(*ManagedIdentityCredentialOptions) (*Credential, error) {
	return nil, errNotBuilt
}

// NewWorkloadIdentityCredential refuses.
func NewWorkloadIdentityCredential(*WorkloadIdentityCredentialOptions) (*Credential, error) {
	return nil, errNotBuilt
}

// NewClientSecretCredential refuses.
func NewClientSecretCredential(_, _, _ string, _ *ClientSecretCredentialOptions) (*Credential, error) {
	return nil, errNotBuilt
}

// NewDefaultAzureCredential refuses.
func NewDefaultAzureCredential(*DefaultAzureCredentialOptions) (*Credential, error) {
	return nil, errNotBuilt
}

// ParseCertificates refuses.
func ParseCertificates(_, _ []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return nil, nil, errNotBuilt
}

// NewClientCertificateCredential refuses.
func NewClientCertificateCredential(
	_, _ string, _ []*x509.Certificate, _ crypto.PrivateKey, _ *ClientCertificateCredentialOptions,
) (*Credential, error) {
	return nil, errNotBuilt
}
